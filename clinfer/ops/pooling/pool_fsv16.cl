// Maximum (IS_MAX) or mean of windows over data in b_fs_yx_fsv16 or b_fs_zyx_fsv16.
// The views are [b, f, (z,) y, x]. One work-item computes 16 channels of one output element, a float16 that is
// contiguous in memory, and visits only the part of the window that lies inside the data.
// Dimension 0: x, 1: the other spatial axes, 2: b times blocks of f. EXCLUDE_PAD: see pool_ref.
#include "clinfer.cl"

#ifndef IS_MAX
#define IS_MAX 1
#define EXCLUDE_PAD 1
#define LOWEST -INFINITY
#define KERNEL_Y 2
#define KERNEL_X 2
#define STRIDE_Y 1
#define STRIDE_X 1
#define DILATION_Y 1
#define DILATION_X 1
#define ARG_BEGIN_Y 0
#define ARG_BEGIN_X 0
#define ARG_END_Y 0
#define ARG_END_X 0
#endif

// The first and the last plus one of KERNEL steps that hit [0, limit) from `start` on.
#define FIRST_STEP(start, dilation) max(0, CEIL_DIV(-(start), dilation))
#define LAST_STEP(start, dilation, kernel, limit) min(kernel, CEIL_DIV((limit) - (start), dilation))

#if INPUT0_RANK == 5
#define DATA_INDEX(z, y, x) INPUT0_GET_INDEX(b, f, z, y, x)
#define FOR_Z for (int kz = first_z; kz < last_z; ++kz)
#define IN_Z (start_z + kz * DILATION_Z)
#else
#define DATA_INDEX(z, y, x) INPUT0_GET_INDEX(b, f, y, x)
#define FOR_Z
#define IN_Z 0
#endif

KERNEL(pool_fsv16)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int out_x = get_global_id(0);
    const int out_y = (int)get_global_id(1) % OUTPUT0_SIZE_Y;
    const int blocks = CEIL_DIV(INPUT0_SIZE_F, 16);
    const int b = (int)get_global_id(2) / blocks;
    const int f = (int)get_global_id(2) % blocks * 16;
    const int start_y = out_y * STRIDE_Y - ARG_BEGIN_Y;
    const int start_x = out_x * STRIDE_X - ARG_BEGIN_X;
    const int first_y = FIRST_STEP(start_y, DILATION_Y);
    const int first_x = FIRST_STEP(start_x, DILATION_X);
    const int last_y = LAST_STEP(start_y, DILATION_Y, KERNEL_Y, INPUT0_SIZE_Y);
    const int last_x = LAST_STEP(start_x, DILATION_X, KERNEL_X, INPUT0_SIZE_X);
#if INPUT0_RANK == 5
    const int out_z = (int)get_global_id(1) / OUTPUT0_SIZE_Y;
    const int start_z = out_z * STRIDE_Z - ARG_BEGIN_Z;
    const int first_z = FIRST_STEP(start_z, DILATION_Z);
    const int last_z = LAST_STEP(start_z, DILATION_Z, KERNEL_Z, INPUT0_SIZE_Z);
#endif
    INPUT0_COMPUTE16 result = IS_MAX ? (INPUT0_COMPUTE)LOWEST : (INPUT0_COMPUTE)0;
    FOR_Z for (int ky = first_y; ky < last_y; ++ky) {
        const int row = DATA_INDEX(IN_Z, start_y + ky * DILATION_Y, start_x);
        for (int kx = first_x; kx < last_x; ++kx) {
            const INPUT0_COMPUTE16 v = INPUT0_LOAD16(input, row + kx * DILATION_X * INPUT0_PITCH_X);
#if IS_MAX
            result = max(result, v);
#else
            result += v;
#endif
        }
    }
#if !IS_MAX
#if EXCLUDE_PAD
    int count = max(last_y - first_y, 0) * max(last_x - first_x, 0);
#if INPUT0_RANK == 5
    count *= max(last_z - first_z, 0);
#endif
#else
    int count = LAST_STEP(start_y, DILATION_Y, KERNEL_Y, INPUT0_SIZE_Y + ARG_END_Y)
              * LAST_STEP(start_x, DILATION_X, KERNEL_X, INPUT0_SIZE_X + ARG_END_X);
#if INPUT0_RANK == 5
    count *= LAST_STEP(start_z, DILATION_Z, KERNEL_Z, INPUT0_SIZE_Z + ARG_END_Z);
#endif
#endif
    result *= count > 0 ? 1.0f / count : 0.0f;
#endif
#if INPUT0_RANK == 5
    OUTPUT0_STORE16(output, OUTPUT0_GET_INDEX(b, f, out_z, out_y, out_x), result);
#else
    OUTPUT0_STORE16(output, OUTPUT0_GET_INDEX(b, f, out_y, out_x), result);
#endif
}
