// Copies the first of each different element, or slice along AXIS, to the output; any layout and rank. One
// work-item copies one element. INPUT2 names the place of the first. Data and output hold raw storage units.
// Without an axis (AXIS -1) places count the elements of the input in row-major order.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef AXIS
#define AXIS 0
#endif

KERNEL(unique_ref)(const global INPUT0_TYPE* restrict input, const global INPUT2_TYPE* restrict firsts,
                   global OUTPUT0_TYPE* restrict output ARGS) {
    const int item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    int at[MAX_RANK], from[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const int first = INPUT2_LOAD(firsts, INPUT2_OFFSET + at[AXIS < 0 ? 0 : AXIS] * INPUT2_PITCH_0);
#if AXIS < 0
    INPUT0_UNRAVEL(first, from);
#else
    for (int axis = 0; axis < INPUT0_RANK; ++axis) from[axis] = axis == AXIS ? first : at[axis];
#endif
    output[OUTPUT0_INDEX_OF(at)] = input[INPUT0_INDEX_OF(from)];
}
