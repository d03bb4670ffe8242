// (x - mean) / deviation along the contiguous last axis of views [a, b, c, length].
// A work-group of LANES work-items normalises one row; each lane loads vectors of VEC.
// DEVIATION(v) is the divisor for a variance v (1: centre only);
// without CENTRE the mean is taken to be 0.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#define DEVIATION(v) sqrt((v) + 1e-5f)
#define CENTRE 1
#endif

#include "shared/rows.h"

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(mvn_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t from = ROW_INDEX(INPUT0), to = ROW_INDEX(OUTPUT0);
    GROUP_SHARED
#if CENTRE
    ROW_SUM(mean, x);
    mean /= INPUT0_SIZE_3;
#else
    const INPUT0_COMPUTE mean = 0;
#endif
    ROW_SUM(variance, (x - mean) * (x - mean));
    const INPUT0_COMPUTE scale = 1 / DEVIATION(variance / INPUT0_SIZE_3);
    FUSED_ROW_START(ROW_INDEX)
    FOR_VECTORS {
        VECTOR result = (LOAD_VECTOR(input, from + i) - mean) * scale;
        FUSED_VECTOR(result, i)
        STORE_VECTOR(output, to + i, result);
    }
    FOR_REST {
        INPUT0_COMPUTE result = (INPUT0_LOAD(input, from + i) - mean) * scale;
        FUSED_ROW_OPS(result, i)
        OUTPUT0_STORE(output, to + i, result);
    }
}
