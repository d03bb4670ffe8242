// Stores those channels of a part that come from one of the tensors whose channels, one tensor behind the other, are
// ARG_GROUPS groups, taken in turn: the first of each group, then the second of each; any layout, rank and type.
// The part begins with shuffled channel ARG_START, the tensor with channel ARG_FIRST of ARG_CHANNELS in all. One
// work-item moves one element. Both hold raw storage units.
#include "clinfer.cl"

#ifndef ARG_GROUPS
#define ARG_GROUPS 2
#define ARG_CHANNELS 4
#define ARG_START 0
#define ARG_FIRST 0
#endif

KERNEL(shuffled_parts_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at), shuffled = ARG_START + at[1];
    at[1] = shuffled % ARG_GROUPS * (ARG_CHANNELS / ARG_GROUPS) + shuffled / ARG_GROUPS - ARG_FIRST;
    if (at[1] >= 0 && at[1] < INPUT0_SIZE_1) output[to] = input[INPUT0_INDEX_OF(at)];
}
