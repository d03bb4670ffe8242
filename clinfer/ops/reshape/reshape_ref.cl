// Copies a tensor into one of another shape: the n-th element in row-major order stays the n-th.
// One work-item copies one element.
#include "clinfer.cl"

KERNEL(reshape_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t from[MAX_RANK], to[MAX_RANK];
    INPUT0_UNRAVEL(item, from);
    OUTPUT0_UNRAVEL(item, to);
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(to), INPUT0_LOAD(input, INPUT0_INDEX_OF(from)));
}
