// Softmax or log-softmax (IS_LOG) along axis 2 of views [a, b, length, inner] with a contiguous last axis.
// One work-item computes VEC neighbouring columns (1 or 16; inner is a multiple of VEC).
// Dimension 0: vectors along inner, 1: a times b.
#include "clinfer.cl"

#ifndef VEC
#define VEC 16
#define IS_LOG 0
#endif

#include "shared/columns.h"
#include "shared/weight.h"

#define COLUMN_ROW(T) (COLUMN_INDEX(T) + i * T##_PITCH_2)

KERNEL(softmax_columns)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    if (COLUMN >= INPUT0_SIZE_3) return;
    const index_t from = COLUMN_INDEX(INPUT0), to = COLUMN_INDEX(OUTPUT0);
    VECTOR highest = -INFINITY;
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i) highest = fmax(highest, LOAD_VECTOR(input, from + i * INPUT0_PITCH_2));
    VECTOR sum = 0;
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i)
        sum += WEIGHT(VECTOR, LOAD_VECTOR(input, from + i * INPUT0_PITCH_2) - highest);
#if IS_LOG
    const VECTOR excess = log(sum);
#else
    const VECTOR scale = 1 / sum;
#endif
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i) {
        const VECTOR x = LOAD_VECTOR(input, from + i * INPUT0_PITCH_2);
#if IS_LOG
        VECTOR result = x - highest - excess;
#else
        VECTOR result = WEIGHT(VECTOR, x - highest) * scale;
#endif
        FUSED_ROW_START(COLUMN_ROW)
        FUSED_VECTOR(result, 0)
        STORE_VECTOR(output, to + i * OUTPUT0_PITCH_2, result);
    }
}
