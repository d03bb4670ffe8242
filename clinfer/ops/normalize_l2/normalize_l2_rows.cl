// x / LENGTH(sum of squares) along the contiguous last axis of views [a, b, c, length].
// A work-group of LANES work-items normalises one row; each lane loads vectors of VEC.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#define LENGTH(v) sqrt((v) + 1e-9f)
#endif

#include "shared/rows.h"

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(normalize_l2_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t from = ROW_INDEX(INPUT0), to = ROW_INDEX(OUTPUT0);
    GROUP_SHARED
    ROW_SUM(sum, x * x);
    const INPUT0_COMPUTE length = LENGTH(sum);
    FUSED_ROW_START(ROW_INDEX)
    FOR_VECTORS {
        VECTOR result = LOAD_VECTOR(input, from + i) / length;
        FUSED_VECTOR(result, i)
        STORE_VECTOR(output, to + i, result);
    }
    FOR_REST {
        INPUT0_COMPUTE result = INPUT0_LOAD(input, from + i) / length;
        FUSED_ROW_OPS(result, i)
        OUTPUT0_STORE(output, to + i, result);
    }
}
