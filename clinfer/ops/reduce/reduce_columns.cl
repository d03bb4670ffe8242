// Combines axis 2 of views [a, b, length, inner] whose last axis is contiguous and stays.
// One work-item computes VEC neighbouring results (1 or 16; inner is a multiple of VEC). RUN elements are combined by
// themselves, then with those before, so that a sum of millions keeps its digits.
// Dimension 0: vectors along inner, 1: a times b.
#include "clinfer.cl"

#ifndef VEC
#define VEC 16
#define COMBINE(a, b) ((a) + (b))
#define VALUE(x) (x)
#define FINISH(x) (x)
#define INITIAL 0
#define RUN 1024
#define ARG_N INPUT0_SIZE_2
#endif

#include "shared/columns.h"

KERNEL(reduce_columns)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    if (COLUMN >= INPUT0_SIZE_3) return;
    index_t index = COLUMN_INDEX(INPUT0);
    VECTOR total = INITIAL;
    for (index_t begin = 0; begin < INPUT0_SIZE_2; begin += RUN) {
        const index_t end = min(begin + RUN, (index_t)INPUT0_SIZE_2);
        VECTOR part = INITIAL;
        for (index_t i = begin; i < end; ++i) {
            const VECTOR x = LOAD_VECTOR(input, index);
            part = COMBINE(part, VALUE(x));
            index += INPUT0_PITCH_2;
        }
        total = COMBINE(total, part);
    }
    VECTOR result = FINISH(total);
    FUSED_ROW_START(COLUMN_INDEX)
    FUSED_VECTOR(result, 0)
    STORE_VECTOR(output, COLUMN_INDEX(OUTPUT0), result);
}
