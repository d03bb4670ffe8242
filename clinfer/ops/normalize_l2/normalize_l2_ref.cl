// x / LENGTH(sum of squares) along the last axes of the views, which have KEPT_RANK others in front; any layout,
// rank and float type. One work-item normalises N elements in two passes. The last group is not full.
#include "clinfer.cl"

#ifndef ARG_N
#define LENGTH(v) sqrt((v) + 1e-9f)
#define ARG_N INPUT0_SIZE_LAST
#define ARG_RESULTS 1
#endif

#include "shared/kept_axes.h"

KERNEL(normalize_l2_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t sizes[] = SIZES;
    const index_t row = get_global_id(0);
    if (row >= ARG_RESULTS) return;
    index_t at[2 * MAX_RANK];
    INPUT0_UNRAVEL(row * ARG_N, at);
    for (int axis = KEPT_RANK; axis < INPUT0_RANK; ++axis) at[axis] = 0;
    INPUT0_COMPUTE sum = 0;
    for (index_t n = 0; n < ARG_N; ++n) {
        const INPUT0_COMPUTE x = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
        sum += x * x;
        FUNC(step)(at, sizes);
    }
    const INPUT0_COMPUTE length = LENGTH(sum);
    for (index_t n = 0; n < ARG_N; ++n) {
        INPUT0_COMPUTE result = INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) / length;
        FUSED_OPS(result, at)
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
        FUNC(step)(at, sizes);
    }
}
