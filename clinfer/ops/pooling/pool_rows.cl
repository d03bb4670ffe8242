// Maximum (IS_MAX) or mean of windows on a CPU, data and result contiguous along x. The views are
// [b, f, (z,) y, x]. One work-item computes up to RUN neighbours along x: each element of the window is
// applied to all of them in one loop that the compiler vectorises.
// Dimension 0: x by RUN, 1: the other spatial axes, 2: b times f.
#include "clinfer.cl"

#ifndef IS_MAX
#define IS_MAX 1
#define RUN 64
#endif

#include "shared/fused_run.h"
#include "windows.h"

#define ROW_START(T) ROW_OF(T, first_out)

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(pool_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t b = (index_t)get_global_id(2) / INPUT0_SIZE_F;
    const index_t f = (index_t)get_global_id(2) % INPUT0_SIZE_F;
    DECLARE_ROWS
    const index_t first_out = (index_t)get_global_id(0) * RUN;
    const int count = min((index_t)RUN, OUTPUT0_SIZE_X - first_out);
    INPUT0_COMPUTE results[RUN];
    for (int i = 0; i < RUN; ++i) results[i] = IS_MAX ? (INPUT0_COMPUTE)LOWEST : (INPUT0_COMPUTE)0;
    FOR_ROWS {
        const global INPUT0_TYPE* row = input + DATA_INDEX(0);
        for (index_t kx = 0; kx < KERNEL_X; ++kx) {
            const index_t shift = first_out * STRIDE_X - ARG_BEGIN_X + kx * DILATION_X;
            const int first = FIRST_STEP(shift, STRIDE_X);
            const int last = LAST_STEP(shift, STRIDE_X, count, INPUT0_SIZE_X);
            for (int i = first; i < last; ++i) {
                const INPUT0_COMPUTE v = INPUT0_LOAD(row, shift + i * STRIDE_X);
#if IS_MAX
                results[i] = (results[i] < v) | (v != v) ? v : results[i];
#else
                results[i] += v;
#endif
            }
        }
    }
#if !IS_MAX
    for (int i = 0; i < count; ++i) {
        const index_t start = (first_out + i) * STRIDE_X - ARG_BEGIN_X;
        const index_t columns = COUNTED(start, DILATION_X, KERNEL_X, INPUT0_SIZE_X, ARG_END_X);
        results[i] = rows * columns > 0 ? results[i] / (rows * columns) : 0;
    }
#endif
#if HAS_EPILOGUE
    FUSED_ROW_START(ROW_START)
    FUSED_RUN(results, count, ROW_START(OUTPUT0))
#else
    global OUTPUT0_TYPE* to = output + ROW_START(OUTPUT0);
    for (int i = 0; i < count; ++i) OUTPUT0_STORE(to, i, results[i]);
#endif
}
