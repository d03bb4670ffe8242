// Converts between any two element types (outputs of 4 bits excepted) by way of THROUGH, any layout and rank.
// One work-item converts one element.
#include "clinfer.cl"

#ifndef THROUGH
#define THROUGH OUTPUT0_COMPUTE
#endif

KERNEL(convert_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const INPUT0_COMPUTE value = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
#ifdef OUTPUT0_IS_BOOLEAN
    OUTPUT0_COMPUTE result = value != 0;
#else
    OUTPUT0_COMPUTE result = (OUTPUT0_COMPUTE)(THROUGH)value;
#endif
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
}
