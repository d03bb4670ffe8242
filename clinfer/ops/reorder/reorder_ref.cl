// Copies a tensor into another format, padding or element type, any rank.
// One work-item writes one element; work-items follow the output's memory order. Where the output has
// blocks, the elements that fill the last block of an axis are written as zeros.
// Views: input and output with their axes in the output's memory order.
#include "clinfer.cl"

#ifndef ARG_COUNT
#define ARG_COUNT OUTPUT0_COUNT
#define UNRAVEL_WHOLE(i, c) OUTPUT0_UNRAVEL(i, c)
#define IS_INSIDE(c) 1
#endif

KERNEL(reorder_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= ARG_COUNT) return;
    index_t at[MAX_RANK];
    UNRAVEL_WHOLE(item, at);
    OUTPUT0_COMPUTE value = 0;
    if (IS_INSIDE(at)) value = (OUTPUT0_COMPUTE)INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), value);
}
