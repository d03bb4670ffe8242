// Writes each element of the output: the update that has claimed its slot, else that of the data. One
// work-item writes one element. INPUT2 is the updates under the joint axes, SCRATCH0 the slots by the
// coordinates of the output; INPUT0, INPUT2 and OUTPUT0 hold raw storage units.
#include "clinfer.cl"

#ifndef JOINT_RANK
#define JOINT_RANK 4
#define UNRAVEL_WALKED(m, c) (c)[3] = (m)
#endif

KERNEL(scatter_write)(const global INPUT0_TYPE* restrict data, const global INPUT2_TYPE* restrict updates,
                      const global int* restrict slots, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[JOINT_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const int claimed = slots[SCRATCH0_INDEX_OF(at)];
    if (claimed < 0) {
        output[OUTPUT0_INDEX_OF(at)] = data[INPUT0_INDEX_OF(at)];
        return;
    }
    UNRAVEL_WALKED(claimed, at);
    output[OUTPUT0_INDEX_OF(at)] = updates[INPUT2_INDEX_OF(at)];
}
