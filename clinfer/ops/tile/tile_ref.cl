// Repeats a tensor along its axes; any unblocked layout and rank. One work-item writes one element.
// Views: the data with as many axes as the output; both hold raw storage units.
#include "clinfer.cl"

#ifndef WRAP
#define WRAP(c) (c)[3] %= INPUT0_SIZE_3
#endif

KERNEL(tile_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at);
    WRAP(at);
    output[to] = input[INPUT0_INDEX_OF(at)];
}
