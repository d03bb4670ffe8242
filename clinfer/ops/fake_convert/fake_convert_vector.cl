// Multiplies by input 1, takes input 2 off (HAS_SHIFT), rounds to f16 and, up to LARGEST, to a float of 8 bits by
// TO_FLOAT8, and undoes the rest, VECTOR elements at a time, walked as in shared/walk.h. Tensors of f32. Only rows
// shorter than a vector are computed singly.
#include "clinfer.cl"

#ifndef HAS_SHIFT
#define HAS_SHIFT 0
#define LARGEST 448.0f
#define TO_FLOAT8(T, v) ROUNDED(f8e4m3, T, v)
#define VECTOR 16
#endif

#include "shared/walk.h"

// A product that is not rounded before the difference may round to another float of 8 bits.
#pragma OPENCL FP_CONTRACT OFF

// A number of f16, rounded.
#define NARROWED(T, v) select(TO_FLOAT8(T, clamp(v, -LARGEST, LARGEST)), v, isnan(v))
#if VECTOR == 16
#define FLOATS float16
#else
#define FLOATS float4
#endif
#if HAS_SHIFT
#define SCALED(T, fetch, i) ROUNDED(f16, T, fetch(0, i) * fetch(1, i) - fetch(2, i))
#define UNSCALED(v, fetch, i) (((v) + fetch(2, i)) / fetch(1, i))
#else
#define SCALED(T, fetch, i) ROUNDED(f16, T, fetch(0, i) * fetch(1, i))
#define UNSCALED(v, fetch, i) ((v) / fetch(1, i))
#endif

KERNEL(fake_convert_vector)(const global INPUT0_TYPE* restrict input0, const global INPUT1_TYPE* restrict input1,
#if HAS_SHIFT
                            const global INPUT2_TYPE* restrict input2,
#endif
                            global OUTPUT0_TYPE* restrict output ARGS) {
    if ((index_t)get_global_id(0) >= ARG_ITEMS) return;
    DECLARE_TILE
    for (index_t row = first_row; row < last_row; ++row) {
        START(0)
        START(1)
#if HAS_SHIFT
        START(2)
#endif
        const index_t to = INDEX(OUTPUT0);
        if (end - begin >= VECTOR) {
            for (index_t i = begin; i < end; i += VECTOR) {
                i = min(i, end - VECTOR);
                const FLOATS narrow = SCALED(FLOATS, FETCH_VECTOR, i);
                WIDE(OUTPUT0, STORE)(output, to + i, UNSCALED(NARROWED(FLOATS, narrow), FETCH_VECTOR, i));
            }
        } else {
            for (index_t i = begin; i < end; ++i) {
                const float narrow = SCALED(float, FETCH, i);
                OUTPUT0_STORE(output, to + i, UNSCALED(NARROWED(float, narrow), FETCH, i));
            }
        }
    }
}
