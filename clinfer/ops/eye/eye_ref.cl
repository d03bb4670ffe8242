// Writes 1 along diagonal ARG_DIAGONAL of the last two axes and 0 elsewhere; any layout and rank. One work-item
// writes one element.
#include "clinfer.cl"

#ifndef ARG_DIAGONAL
#define ARG_DIAGONAL 0
#endif

KERNEL(eye_ref)(global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), at[OUTPUT0_RANK - 1] - at[OUTPUT0_RANK - 2] == ARG_DIAGONAL);
}
