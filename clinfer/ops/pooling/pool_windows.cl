// Maximum (IS_MAX) or mean of windows; visits only the part of a window that lies inside the data.
// The views are [b, f, (z,) y, x] in any layout. One work-item computes OUTPUTS neighbours along x of VEC
// channels: with VEC 16 a block of b_fs_yx_fsv16 or b_fs_zyx_fsv16, a float16 that is contiguous in memory.
// Dimension 0: x by OUTPUTS (the last group is not full), 1: the other spatial axes, 2: b times f by VEC.
// EXCLUDE_PAD: see pool_ref.
#include "clinfer.cl"

#ifndef IS_MAX
#define IS_MAX 1
#define EXCLUDE_PAD 1
#define LOWEST -INFINITY
#define MEAN(sum, count) ((sum) / (count))
#define VEC 16
#define OUTPUTS 4
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

#if VEC == 16
#define VECTOR INPUT0_COMPUTE16
#define LOAD_VECTOR INPUT0_LOAD16
#define STORE_VECTOR OUTPUT0_STORE16
#else
#define VECTOR INPUT0_COMPUTE
#define LOAD_VECTOR INPUT0_LOAD
#define STORE_VECTOR OUTPUT0_STORE
#endif

#if IS_MAX
#define TAKE(v) (result = max(result, v))
#else
#define TAKE(v) (result += (v))
#endif

// The first and the last plus one of the window's steps that hit [0, limit) from `start` on.
#define FIRST_STEP(start, dilation) max(0, CEIL_DIV(-(start), dilation))
#define LAST_STEP(start, dilation, kernel, limit) min(kernel, CEIL_DIV((limit) - (start), dilation))

#if INPUT0_RANK == 5
#define DATA_INDEX(z, y, x) INPUT0_GET_INDEX(b, f, z, y, x)
#define RESULT_INDEX(z, y, x) OUTPUT0_GET_INDEX(b, f, z, y, x)
#define FOR_Z for (int kz = first_z; kz < last_z; ++kz)
#define IN_Z (start_z + kz * DILATION_Z)
#else
#define DATA_INDEX(z, y, x) INPUT0_GET_INDEX(b, f, y, x)
#define RESULT_INDEX(z, y, x) OUTPUT0_GET_INDEX(b, f, y, x)
#define FOR_Z
#define IN_Z 0
#endif

KERNEL(pool_windows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int blocks = CEIL_DIV(INPUT0_SIZE_F, VEC);
    const int b = (int)get_global_id(2) / blocks;
    const int f = (int)get_global_id(2) % blocks * VEC;
    const int out_y = (int)get_global_id(1) % OUTPUT0_SIZE_Y;
    const int start_y = out_y * STRIDE_Y - ARG_BEGIN_Y;
    const int first_y = FIRST_STEP(start_y, DILATION_Y);
    const int last_y = LAST_STEP(start_y, DILATION_Y, KERNEL_Y, INPUT0_SIZE_Y);
#if EXCLUDE_PAD
    int rows = max(last_y - first_y, 0);
#else
    int rows = LAST_STEP(start_y, DILATION_Y, KERNEL_Y, INPUT0_SIZE_Y + ARG_END_Y);
#endif
#if INPUT0_RANK == 5
    const int out_z = (int)get_global_id(1) / OUTPUT0_SIZE_Y;
    const int start_z = out_z * STRIDE_Z - ARG_BEGIN_Z;
    const int first_z = FIRST_STEP(start_z, DILATION_Z);
    const int last_z = LAST_STEP(start_z, DILATION_Z, KERNEL_Z, INPUT0_SIZE_Z);
#if EXCLUDE_PAD
    rows *= max(last_z - first_z, 0);
#else
    rows *= LAST_STEP(start_z, DILATION_Z, KERNEL_Z, INPUT0_SIZE_Z + ARG_END_Z);
#endif
#endif
    const int first_out = (int)get_global_id(0) * OUTPUTS;
    if (first_out >= OUTPUT0_SIZE_X) return;
    const int last_out = min(first_out + OUTPUTS, OUTPUT0_SIZE_X);
    for (int out_x = first_out; out_x < last_out; ++out_x) {
        const int start_x = out_x * STRIDE_X - ARG_BEGIN_X;
        const int first_x = FIRST_STEP(start_x, DILATION_X);
        const int last_x = LAST_STEP(start_x, DILATION_X, KERNEL_X, INPUT0_SIZE_X);
        VECTOR result = IS_MAX ? (INPUT0_COMPUTE)LOWEST : (INPUT0_COMPUTE)0;
        FOR_Z for (int ky = first_y; ky < last_y; ++ky) {
            const int row = DATA_INDEX(IN_Z, start_y + ky * DILATION_Y, start_x);
            if (first_x == 0 && last_x == KERNEL_X) {
                for (int kx = 0; kx < KERNEL_X; ++kx) TAKE(LOAD_VECTOR(input, row + kx * DILATION_X * INPUT0_PITCH_X));
            } else {
                for (int kx = first_x; kx < last_x; ++kx)
                    TAKE(LOAD_VECTOR(input, row + kx * DILATION_X * INPUT0_PITCH_X));
            }
        }
#if !IS_MAX
#if EXCLUDE_PAD
        const int count = rows * max(last_x - first_x, 0);
#else
        const int count = rows * LAST_STEP(start_x, DILATION_X, KERNEL_X, INPUT0_SIZE_X + ARG_END_X);
#endif
#if INPUT0_IS_FLOAT
        result *= count > 0 ? 1 / (INPUT0_COMPUTE)count : 0;
#else
        result = count > 0 ? MEAN(result, count) : 0;
#endif
#endif
        STORE_VECTOR(output, RESULT_INDEX(out_z, out_y, out_x), result);
    }
}
