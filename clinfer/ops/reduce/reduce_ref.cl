// Combines elements along the last axes of the input's view, which has KEPT_RANK others in front; any
// layout, rank and type. The output's view has the same axes, the reduced ones with size 1.
// One work-item computes one result from N elements; the last work-group is not full. RUN elements are combined by
// themselves, then with those before, so that a sum of millions keeps its digits.
#include "clinfer.cl"

#ifndef ARG_N
#define COMBINE(a, b) ((a) + (b))
#define VALUE(x) (x)
#define FINISH(x) (x)
#define INITIAL 0
#define RUN 1024
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
    for (index_t begin = 0; begin < ARG_N; begin += RUN) {
        const index_t end = min(begin + RUN, (index_t)ARG_N);
        INPUT0_COMPUTE part = INITIAL;
        for (index_t n = begin; n < end; ++n) {
            const INPUT0_COMPUTE x = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
            part = COMBINE(part, VALUE(x));
            FUNC(step)(at, sizes);
        }
        total = COMBINE(total, part);
    }
    INPUT0_COMPUTE result = FINISH(total);
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, target, result);
}
