// Rounds each element to one of a few values between two bounds, VECTOR elements at a time, walked as in
// shared/walk.h. Only rows shorter than a vector are computed singly.
#include "clinfer.cl"

#ifndef QUANTIZE
#define QUANTIZE(T, a, b, c, d, e) (a)
#define VECTOR 16
#endif

#include "shared/walk.h"

KERNEL(fake_quantize_vector)(const global INPUT0_TYPE* restrict input0, const global INPUT1_TYPE* restrict input1,
                             const global INPUT2_TYPE* restrict input2, const global INPUT3_TYPE* restrict input3,
                             const global INPUT4_TYPE* restrict input4, global OUTPUT0_TYPE* restrict output ARGS) {
    if ((index_t)get_global_id(0) >= ARG_ITEMS) return;
    DECLARE_TILE
    for (index_t row = first_row; row < last_row; ++row) {
        START(0)
        START(1)
        START(2)
        START(3)
        START(4)
        const index_t to = INDEX(OUTPUT0);
        if (end - begin >= VECTOR) {
            for (index_t i = begin; i < end; i += VECTOR) {
                i = min(i, end - VECTOR);
                const WIDE(INPUT0, COMPUTE) a = FETCH_VECTOR(0, i);
                const WIDE(INPUT0, COMPUTE) b = FETCH_VECTOR(1, i), c = FETCH_VECTOR(2, i);
                const WIDE(INPUT0, COMPUTE) d = FETCH_VECTOR(3, i), e = FETCH_VECTOR(4, i);
                WIDE(OUTPUT0, STORE)(output, to + i, QUANTIZE(WIDE(INPUT0, COMPUTE), a, b, c, d, e));
            }
        } else {
            for (index_t i = begin; i < end; ++i) {
                const INPUT0_COMPUTE a = FETCH(0, i), b = FETCH(1, i), c = FETCH(2, i);
                const INPUT0_COMPUTE d = FETCH(3, i), e = FETCH(4, i);
                OUTPUT0_STORE(output, to + i, QUANTIZE(INPUT0_COMPUTE, a, b, c, d, e));
            }
        }
    }
}
