// Softmax or log-softmax (IS_LOG) along the contiguous last axis of views [a, b, c, length].
// A work-group of LANES work-items computes one row; each lane loads vectors of VEC. Three passes: the
// maximum, the sum of exponentials (kept in the output if it is f32), the result.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#define IS_LOG 0
#endif

#include "shared/rows.h"
#include "shared/weight.h"

#if VEC == 16
#define LOAD_KEPT OUTPUT0_LOAD16
#else
#define LOAD_KEPT OUTPUT0_LOAD4
#endif

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(softmax_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t from = ROW_INDEX(INPUT0), to = ROW_INDEX(OUTPUT0);
    GROUP_SHARED

    INPUT0_COMPUTE highest = -INFINITY;
    if (LANE * VEC < VECTORS_END) {
        VECTOR v = -INFINITY;
        FOR_VECTORS v = fmax(v, LOAD_VECTOR(input, from + i));
        COMBINE_VECTOR(fmax, v, highest);
    }
    FOR_REST highest = fmax(highest, INPUT0_LOAD(input, from + i));
    MAX_GROUP(highest);

    INPUT0_COMPUTE sum = 0;
    if (LANE * VEC < VECTORS_END) {
        VECTOR v = 0;
        FOR_VECTORS {
            const VECTOR e = WEIGHT(VECTOR, LOAD_VECTOR(input, from + i) - highest);
            v += e;
#if defined(OUTPUT0_IS_F32) && !IS_LOG
            STORE_VECTOR(output, to + i, e);
#endif
        }
        COMBINE_VECTOR(ADD, v, sum);
    }
    FOR_REST sum += WEIGHT(INPUT0_COMPUTE, INPUT0_LOAD(input, from + i) - highest);
    ADD_GROUP(sum);

#if IS_LOG
    const INPUT0_COMPUTE excess = log(sum);
#define VECTOR_RESULT (LOAD_VECTOR(input, from + i) - highest - excess)
#define RESULT (INPUT0_LOAD(input, from + i) - highest - excess)
#else
    const INPUT0_COMPUTE scale = 1 / sum;
#ifdef OUTPUT0_IS_F32
#define VECTOR_RESULT (LOAD_KEPT(output, to + i) * scale)
#else
#define VECTOR_RESULT (WEIGHT(VECTOR, LOAD_VECTOR(input, from + i) - highest) * scale)
#endif
#define RESULT (WEIGHT(INPUT0_COMPUTE, INPUT0_LOAD(input, from + i) - highest) * scale)
#endif
    FUSED_ROW_START(ROW_INDEX)
    FOR_VECTORS {
        VECTOR result = VECTOR_RESULT;
        FUSED_VECTOR(result, i)
        STORE_VECTOR(output, to + i, result);
    }
    FOR_REST {
        INPUT0_COMPUTE result = RESULT;
        FUSED_ROW_OPS(result, i)
        OUTPUT0_STORE(output, to + i, result);
    }
}
