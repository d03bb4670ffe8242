// Combines updates with the values that their indices name, in place. One work-item takes all updates that share the
// coordinates which move the updates and are not looked up, in their order; no other work-item touches these values.
// OUTPUT0 is the output, which holds the data, or memory for values by the coordinates of the output; with COUNTED
// the counts hold how much was combined in each. OUTPUT0 in any layout, updates and indices in any unblocked one.
// INPUT2 is the updates under the joint axes, in which those that do not move them have size 1.
#include "clinfer.cl"

#ifndef INDEX_COUNT
#define JOINT_RANK 4
#define INDEX_COUNT 1
#define COUNTED 0
#define COMBINE(a, b) ((a) + (b))
#define IS_WITHIN_OUTPUT(c) true
#define UNRAVEL_ROW(i, c) (c)[0] = (i)
#define UNRAVEL_WALKED(m, c) (c)[3] = (m)
#define AXIS(n) 3
#define AXIS_SIZE(n) 16
#define ARG_TUPLE_PITCH 0
#define ARG_WALKED 16
#define ARG_ROWS 16
#endif

KERNEL(scatter_rows)(const global INPUT1_TYPE* restrict indices, const global INPUT2_TYPE* restrict updates,
                     global OUTPUT0_TYPE* restrict values
#if COUNTED
                     , global int* restrict counts
#endif
                     ARGS) {
    const index_t item = get_global_id(0);
    if (item >= ARG_ROWS) return;
    index_t at[JOINT_RANK] = {0}, to[JOINT_RANK];
    UNRAVEL_ROW(item, at);
    if (!IS_WITHIN_OUTPUT(at)) return;
    for (int axis = 0; axis < OUTPUT0_RANK; ++axis) to[axis] = at[axis];
    for (index_t m = 0; m < ARG_WALKED; ++m) {
        UNRAVEL_WALKED(m, at);
        const index_t place = INPUT1_INDEX_OF(at);
        bool inside = true;
        for (int n = 0; n < INDEX_COUNT; ++n) {
            long index = (long)INPUT1_LOAD(indices, place + n * ARG_TUPLE_PITCH);
            if (index < 0) index += AXIS_SIZE(n);
            inside = inside && index >= 0 && index < AXIS_SIZE(n);
            to[AXIS(n)] = (index_t)index;
        }
        if (!inside) continue;
        const index_t target = OUTPUT0_INDEX_OF(to);
        const OUTPUT0_COMPUTE update = INPUT2_LOAD(updates, INPUT2_INDEX_OF(at));
#if COUNTED
        const bool is_first = counts[target]++ == 0;
        OUTPUT0_STORE(values, target, is_first ? update : COMBINE(OUTPUT0_LOAD(values, target), update));
#else
        OUTPUT0_STORE(values, target, COMBINE(OUTPUT0_LOAD(values, target), update));
#endif
    }
}
