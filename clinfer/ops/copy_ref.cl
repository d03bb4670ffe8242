// Copies the elements of one view into another of the same sizes; any layout and rank.
// One work-item copies one element; the last work-group is not full.
// The views hold raw storage units (unsigned integers of the element's size).
#include "clinfer.cl"

KERNEL(copy_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int element = get_global_id(0);
    if (element >= OUTPUT0_COUNT) return;
    int at[MAX_RANK];
    OUTPUT0_UNRAVEL(element, at);
    output[OUTPUT0_INDEX_OF(at)] = input[INPUT0_INDEX_OF(at)];
}
