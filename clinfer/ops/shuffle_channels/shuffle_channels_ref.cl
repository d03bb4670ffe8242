// Puts the slices along an axis, which are GROUPS groups, in another order: the first of each group, then the second
// of each, and so on; any layout and rank. One work-item moves one element. Data and output hold raw storage units.
#include "clinfer.cl"

#ifndef AXIS
#define AXIS 1
#define AXIS_SIZE INPUT0_SIZE_1
#define GROUPS 2
#endif

KERNEL(shuffle_channels_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at);
    at[AXIS] = at[AXIS] % GROUPS * (AXIS_SIZE / GROUPS) + at[AXIS] / GROUPS;
    output[to] = input[INPUT0_INDEX_OF(at)];
}
