// Writes the scalar of INPUT2 where the coordinate along the new axis equals the index, else that of INPUT3;
// any unblocked layout and rank. One work-item writes one element.
// Views: the output with the new axis last; the indices as they are. INPUT2, INPUT3 and the output hold
// raw storage units.
#include "clinfer.cl"

#ifndef WRAPS_NEGATIVE
#define WRAPS_NEGATIVE 0
#define INDICES_AT(c) INPUT0_INDEX_OF(c)
#endif

KERNEL(one_hot_ref)(const global INPUT0_TYPE* restrict indices, const global INPUT2_TYPE* restrict on_value,
                    const global INPUT3_TYPE* restrict off_value, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    long index = (long)INPUT0_LOAD(indices, INDICES_AT(at));
    if (WRAPS_NEGATIVE && index < 0) index += OUTPUT0_SIZE_LAST;
    output[OUTPUT0_INDEX_OF(at)] = index == at[OUTPUT0_RANK - 1] ? on_value[0] : off_value[0];
}
