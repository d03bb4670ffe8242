// Claims the slot of every place for the last update that goes there. One work-item takes one place.
// INPUT1 is the indices under the joint axes, in which those that do not move them have size 1; SCRATCH0 the
// slots by the coordinates of the output. Places outside of the output claim nothing.
#include "clinfer.cl"

#ifndef INDEX_COUNT
#define JOINT_RANK 4
#define INDEX_COUNT 1
#define IS_WITHIN(c) true
#define AXIS(n) 3
#define AXIS_SIZE(n) 16
#define ARG_TUPLE_PITCH 0
#define ARG_WALKED 16
#endif

KERNEL(scatter_mark)(const global INPUT1_TYPE* restrict indices, global int* restrict slots ARGS) {
    const index_t item = get_global_id(0);
    if (item >= INPUT1_COUNT) return;
    index_t at[JOINT_RANK];
    INPUT1_UNRAVEL(item, at);
    const index_t place = INPUT1_INDEX_OF(at);
    bool inside = IS_WITHIN(at);
    for (int n = 0; n < INDEX_COUNT; ++n) {
        long index = (long)INPUT1_LOAD(indices, place + n * ARG_TUPLE_PITCH);
        if (index < 0) index += AXIS_SIZE(n);
        inside = inside && index >= 0 && index < AXIS_SIZE(n);
        at[AXIS(n)] = (index_t)index;
    }
    if (inside) atomic_max(slots + SCRATCH0_INDEX_OF(at), (int)(item % ARG_WALKED));
}
