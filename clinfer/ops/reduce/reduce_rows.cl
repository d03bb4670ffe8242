// Combines the contiguous last axis of views [a, b, c, length].
// A work-group of LANES work-items computes one result; each lane loads vectors of VEC.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#define COMBINE(a, b) ((a) + (b))
#define VALUE(x) (x)
#define FINISH(x) (x)
#define INITIAL 0
#define ARG_N INPUT0_SIZE_LAST
#endif

#include "shared/rows.h"

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(reduce_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t from = ROW_INDEX(INPUT0);
    GROUP_SHARED
    INPUT0_COMPUTE total = INITIAL;
    if (INPUT0_SIZE_3 >= VEC) {
        VECTOR totals = INITIAL;
        FOR_VECTORS {
            const VECTOR x = LOAD_VECTOR(input, from + i);
            totals = COMBINE(totals, VALUE(x));
        }
        COMBINE_VECTOR(COMBINE, totals, total);
    }
    FOR_REST {
        const INPUT0_COMPUTE x = INPUT0_LOAD(input, from + i);
        total = COMBINE(total, VALUE(x));
    }
#if LANES > 1
    GROUP_COMBINE(COMBINE, total, shared, LANE, LANES);
    if (LANE > 0) return;
#endif
    INPUT0_COMPUTE result = FINISH(total);
    FUSED_ROW_START(ROW_INDEX)
    FUSED_ROW_OPS(result, 0)
    OUTPUT0_STORE(output, ROW_INDEX(OUTPUT0), result);
}
