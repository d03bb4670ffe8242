// Maximum (IS_MAX) or mean of windows on a CPU, data and result contiguous along x. The views are
// [b, f, (z,) y, x]. One work-item computes up to 64 neighbours along x: each element of the window is
// applied to all of them in one loop that the compiler vectorises.
// Dimension 0: x by 64, 1: the other spatial axes, 2: b times f. EXCLUDE_PAD: see pool_ref.
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

#define RUN 64
#define FIRST_STEP(start, dilation) max(0, CEIL_DIV(-(start), dilation))
#define LAST_STEP(start, dilation, kernel, limit) min(kernel, CEIL_DIV((limit) - (start), dilation))

#if INPUT0_RANK == 5
#define DATA_INDEX(z, y) INPUT0_GET_INDEX(b, f, z, y, 0)
#define RESULT_INDEX(z, y, x) OUTPUT0_GET_INDEX(b, f, z, y, x)
#define FOR_Z for (int kz = first_z; kz < last_z; ++kz)
#define IN_Z (start_z + kz * DILATION_Z)
#else
#define DATA_INDEX(z, y) INPUT0_GET_INDEX(b, f, y, 0)
#define RESULT_INDEX(z, y, x) OUTPUT0_GET_INDEX(b, f, y, x)
#define FOR_Z
#define IN_Z 0
#endif

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(pool_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int b = (int)get_global_id(2) / INPUT0_SIZE_F;
    const int f = (int)get_global_id(2) % INPUT0_SIZE_F;
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
    const int first_out = (int)get_global_id(0) * RUN;
    const int count = min(RUN, OUTPUT0_SIZE_X - first_out);
    INPUT0_COMPUTE results[RUN];
    for (int i = 0; i < RUN; ++i) results[i] = IS_MAX ? (INPUT0_COMPUTE)LOWEST : (INPUT0_COMPUTE)0;
    FOR_Z for (int ky = first_y; ky < last_y; ++ky) {
        const global INPUT0_TYPE* row = input + DATA_INDEX(IN_Z, start_y + ky * DILATION_Y);
        for (int kx = 0; kx < KERNEL_X; ++kx) {
            const int shift = first_out * STRIDE_X - ARG_BEGIN_X + kx * DILATION_X;
            const int first = FIRST_STEP(shift, STRIDE_X);
            const int last = LAST_STEP(shift, STRIDE_X, count, INPUT0_SIZE_X);
            for (int i = first; i < last; ++i) {
                const INPUT0_COMPUTE v = INPUT0_LOAD(row, shift + i * STRIDE_X);
#if IS_MAX
                results[i] = results[i] > v ? results[i] : v;
#else
                results[i] += v;
#endif
            }
        }
    }
    global OUTPUT0_TYPE* to = output + RESULT_INDEX(out_z, out_y, first_out);
#if IS_MAX
    for (int i = 0; i < count; ++i) OUTPUT0_STORE(to, i, results[i]);
#else
    for (int i = 0; i < count; ++i) {
        const int start = (first_out + i) * STRIDE_X - ARG_BEGIN_X;
#if EXCLUDE_PAD
        const int columns = max(LAST_STEP(start, DILATION_X, KERNEL_X, INPUT0_SIZE_X) - FIRST_STEP(start, DILATION_X), 0);
#else
        const int columns = LAST_STEP(start, DILATION_X, KERNEL_X, INPUT0_SIZE_X + ARG_END_X);
#endif
        OUTPUT0_STORE(to, i, rows * columns > 0 ? results[i] / (rows * columns) : 0);
    }
#endif
}
