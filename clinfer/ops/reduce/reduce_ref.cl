// Combines elements along the last axes of the input's view, which has KEPT_RANK others in front; any
// layout, rank and type. The output's view has the same axes, the reduced ones with size 1.
// One work-item computes one result from N elements; the last work-group is not full.
#include "clinfer.cl"

#ifndef ARG_N
#define COMBINE(a, b) ((a) + (b))
#define VALUE(x) (x)
#define FINISH(x) (x)
#define INITIAL 0
#define ARG_N INPUT0_SIZE_LAST
#endif

#include "shared/kept_axes.h"

KERNEL(reduce_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t sizes[] = SIZES;
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[2 * MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t target = OUTPUT0_INDEX_OF(at);
    INPUT0_COMPUTE total = INITIAL;
    for (index_t n = 0; n < ARG_N; ++n) {
        const INPUT0_COMPUTE x = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
        total = COMBINE(total, VALUE(x));
        FUNC(step)(at, sizes);
    }
    INPUT0_COMPUTE result = FINISH(total);
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, target, result);
}
