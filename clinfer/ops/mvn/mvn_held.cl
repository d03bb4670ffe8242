// (x - mean) / deviation along the contiguous last axis of views [a, b, c, LENGTH], each element of which is read once.
// A work-group of LANES work-items normalises one row; each lane holds HELD vectors of 4 of it, every LANES-th.
// LENGTH is a multiple of 4. DEVIATION(v) is the divisor for a variance v; without CENTRE the mean is taken to be 0.
#include "clinfer.cl"

#ifndef LANES
#define LANES 32
#define HELD 1
#define LENGTH 128
#define DEVIATION(v) sqrt((v) + 1e-5f)
#define CENTRE 1
#endif
#define VEC 4

#include "shared/rows.h"

#define FOR_HELD _Pragma("unroll") for (int n = 0; n < HELD; ++n)
#define PLACE ((n * LANES + LANE) * VEC)
#define IS_THERE ((n + 1) * LANES * VEC <= LENGTH || PLACE < LENGTH)

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(mvn_held)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t from = ROW_INDEX(INPUT0), to = ROW_INDEX(OUTPUT0);
    GROUP_SHARED
    VECTOR held[HELD], sums = 0;
    FOR_HELD held[n] = IS_THERE ? LOAD_VECTOR(input, from + PLACE) : (VECTOR)0;
    INPUT0_COMPUTE mean = 0, variance;
#if CENTRE
    FOR_HELD sums += held[n];
    COMBINE_VECTOR(ADD, sums, mean);
    ADD_GROUP(mean);
    mean /= LENGTH;
    FOR_HELD held[n] -= mean;
    sums = 0;
#endif
    FOR_HELD if (IS_THERE) sums += held[n] * held[n];
    COMBINE_VECTOR(ADD, sums, variance);
    ADD_GROUP(variance);
    const INPUT0_COMPUTE scale = 1 / DEVIATION(variance / LENGTH);
    FUSED_ROW_START(ROW_INDEX)
    FOR_HELD {
        if (IS_THERE) {
            VECTOR result = held[n] * scale;
            FUSED_VECTOR(result, PLACE)
            STORE_VECTOR(output, to + PLACE, result);
        }
    }
}
