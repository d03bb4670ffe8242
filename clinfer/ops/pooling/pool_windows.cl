// Maximum (IS_MAX) or mean of windows; visits only the part of a window that lies inside the data.
// The views are [b, f, (z,) y, x] in any layout. One work-item computes OUTPUTS neighbours along x of VEC
// channels: with VEC 16 they lie together in memory, a block of b_fs_yx_fsv16 or b_fs_zyx_fsv16 or a part of byxf.
// Dimension 0: x by OUTPUTS (the last group is not full), 1: the other spatial axes, 2: b times f by VEC; with
// CHANNELS_FIRST, f by VEC lies within dimension 0, neighbours of it side by side.
#include "clinfer.cl"

#ifndef IS_MAX
#define IS_MAX 1
#define MEAN(sum, count) ((sum) / (count))
#define VEC 16
#define OUTPUTS 4
#define CHANNELS_FIRST 0
#endif

#include "shared/vectors.h"
#include "windows.h"

#if IS_MAX
// What is not a number stays, unlike with fmax.
#define TAKE(v) do { \
        const VECTOR v_ = v; \
        result = (result < v_) | (v_ != v_) ? v_ : result; \
    } while (0)
#else
#define TAKE(v) (result += (v))
#endif

#if VEC == 16
#define FUSED_CHANNELS(result, at) FUSED_OPS16(result, at, 1)
#else
#define FUSED_CHANNELS FUSED_OPS
#endif

KERNEL(pool_windows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t blocks = CEIL_DIV(INPUT0_SIZE_F, VEC);
#if CHANNELS_FIRST
    const index_t b = get_global_id(2), f = (index_t)get_global_id(0) % blocks * VEC;
    const index_t first_out = (index_t)get_global_id(0) / blocks * OUTPUTS;
#else
    const index_t b = (index_t)get_global_id(2) / blocks, f = (index_t)get_global_id(2) % blocks * VEC;
    const index_t first_out = (index_t)get_global_id(0) * OUTPUTS;
#endif
    DECLARE_ROWS
    if (first_out >= OUTPUT0_SIZE_X) return;
    const index_t last_out = min(first_out + OUTPUTS, OUTPUT0_SIZE_X);
    for (index_t out_x = first_out; out_x < last_out; ++out_x) {
        const index_t start_x = out_x * STRIDE_X - ARG_BEGIN_X;
        const index_t first_x = FIRST_STEP(start_x, DILATION_X);
        const index_t last_x = LAST_STEP(start_x, DILATION_X, KERNEL_X, INPUT0_SIZE_X);
        VECTOR result = IS_MAX ? (INPUT0_COMPUTE)LOWEST : (INPUT0_COMPUTE)0;
        FOR_ROWS {
            const index_t row = DATA_INDEX(start_x);
            if (first_x == 0 && last_x == KERNEL_X) {
                for (int kx = 0; kx < KERNEL_X; ++kx) TAKE(LOAD_VECTOR(input, row + kx * DILATION_X * INPUT0_PITCH_X));
            } else {
                for (index_t kx = first_x; kx < last_x; ++kx)
                    TAKE(LOAD_VECTOR(input, row + kx * DILATION_X * INPUT0_PITCH_X));
            }
        }
#if !IS_MAX
        const index_t count = rows * COUNTED(start_x, DILATION_X, KERNEL_X, INPUT0_SIZE_X, ARG_END_X);
#if INPUT0_IS_FLOAT
        result *= count > 0 ? 1 / (INPUT0_COMPUTE)count : 0;
#else
        result = count > 0 ? MEAN(result, count) : 0;
#endif
#endif
        const index_t at[] = RESULT_AT(out_x);
        FUSED_CHANNELS(result, at)
        STORE_VECTOR(output, ROW_OF(OUTPUT0, out_x), result);
    }
}
