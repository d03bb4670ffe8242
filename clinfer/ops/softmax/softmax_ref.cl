// Softmax or log-softmax (IS_LOG) along the last axis of the views; any layout, rank and float type.
// One work-item computes one row: a pass for the maximum, one for the sum, one that writes. The last
// work-group is not full.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef IS_LOG
#define IS_LOG 0
#endif

#include "shared/weight.h"

KERNEL(softmax_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t first = (index_t)get_global_id(0) * INPUT0_SIZE_LAST;
    if (first >= INPUT0_COUNT) return;
    index_t at[MAX_RANK];
    INPUT0_UNRAVEL(first, at);
    INPUT0_COMPUTE highest = -INFINITY;
    for (index_t i = 0; i < INPUT0_SIZE_LAST; ++i) {
        at[INPUT0_RANK - 1] = i;
        highest = fmax(highest, INPUT0_LOAD(input, INPUT0_INDEX_OF(at)));
    }
    INPUT0_COMPUTE sum = 0;
    for (index_t i = 0; i < INPUT0_SIZE_LAST; ++i) {
        at[INPUT0_RANK - 1] = i;
        sum += WEIGHT(INPUT0_COMPUTE, INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) - highest);
    }
    for (index_t i = 0; i < INPUT0_SIZE_LAST; ++i) {
        at[INPUT0_RANK - 1] = i;
        const INPUT0_COMPUTE value = INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) - highest;
        INPUT0_COMPUTE result = IS_LOG ? value - log(sum) : WEIGHT(INPUT0_COMPUTE, value) / sum;
        FUSED_OPS(result, at)
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
    }
}
