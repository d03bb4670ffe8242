// (x - mean) / deviation along axis 2 of views [a, b, length, inner] with a contiguous last axis.
// One work-item normalises VEC neighbouring columns (1 or 16; inner is a multiple of VEC).
// DEVIATION(v) is the divisor for a variance v (1: centre only);
// without CENTRE the mean is taken to be 0. Dimension 0: vectors along inner, 1: a times b.
#include "clinfer.cl"

#ifndef VEC
#define VEC 16
#define DEVIATION(v) sqrt((v) + 1e-5f)
#define CENTRE 1
#endif

#include "shared/columns.h"

#define COLUMN_ROW(T) (COLUMN_INDEX(T) + i * T##_PITCH_2)

KERNEL(mvn_columns)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    if (COLUMN >= INPUT0_SIZE_3) return;
    const index_t from = COLUMN_INDEX(INPUT0), to = COLUMN_INDEX(OUTPUT0);
    VECTOR mean = 0;
    if (CENTRE)
        for (index_t i = 0; i < INPUT0_SIZE_2; ++i) mean += LOAD_VECTOR(input, from + i * INPUT0_PITCH_2);
    mean /= (INPUT0_COMPUTE)INPUT0_SIZE_2;
    VECTOR variance = 0;
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i) {
        const VECTOR x = LOAD_VECTOR(input, from + i * INPUT0_PITCH_2) - mean;
        variance += x * x;
    }
    const VECTOR scale = 1 / DEVIATION(variance / (INPUT0_COMPUTE)INPUT0_SIZE_2);
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i) {
        const VECTOR x = LOAD_VECTOR(input, from + i * INPUT0_PITCH_2) - mean;
        VECTOR result = x * scale;
        FUSED_ROW_START(COLUMN_ROW)
        FUSED_VECTOR(result, 0)
        STORE_VECTOR(output, to + i * OUTPUT0_PITCH_2, result);
    }
}
