// x / LENGTH(sum of squares) along axis 2 of views [a, b, length, inner] with a contiguous last axis.
// One work-item normalises VEC neighbouring columns (1 or 16; inner is a multiple of VEC).
// Dimension 0: vectors along inner, 1: a times b.
#include "clinfer.cl"

#ifndef VEC
#define VEC 16
#define LENGTH(v) sqrt((v) + 1e-9f)
#endif

#include "shared/columns.h"

#define COLUMN_ROW(T) (COLUMN_INDEX(T) + i * T##_PITCH_2)

KERNEL(normalize_l2_columns)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    if (COLUMN >= INPUT0_SIZE_3) return;
    const index_t from = COLUMN_INDEX(INPUT0), to = COLUMN_INDEX(OUTPUT0);
    VECTOR sum = 0;
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i) {
        const VECTOR x = LOAD_VECTOR(input, from + i * INPUT0_PITCH_2);
        sum += x * x;
    }
    const VECTOR length = LENGTH(sum);
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i) {
        VECTOR result = LOAD_VECTOR(input, from + i * INPUT0_PITCH_2) / length;
        FUSED_ROW_START(COLUMN_ROW)
        FUSED_VECTOR(result, 0)
        STORE_VECTOR(output, to + i * OUTPUT0_PITCH_2, result);
    }
}
