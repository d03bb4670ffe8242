// Writes each element of the output: that of the data, changed by the updates whose indices name it, in
// their order. Data and output in any layout, updates and indices in any unblocked one; any type and rank.
// One work-item writes one element and looks at all places that may be its own.
// Views of indices and updates have the axes of the output (sizes of the indices) and those walked.
#include "clinfer.cl"

#ifndef INDEX_COUNT
#define JOINT_RANK 4
#define INDEX_COUNT 1
#define USES_INITIAL 1
#define COMBINE(a, b) ((a) + (b))
#define FINISH(sum, count) (sum)
#define IS_INSIDE(c) true
#define UNRAVEL_WALKED(m, c) (c)[3] = (m)
#define AXIS(n) 3
#define AXIS_SIZE(n) 16
#define ARG_TUPLE_PITCH 0
#define ARG_WALKED 16
#endif

KERNEL(scatter_ref)(const global INPUT0_TYPE* restrict data, const global INPUT1_TYPE* restrict indices,
                    const global INPUT2_TYPE* restrict updates, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[JOINT_RANK];
    OUTPUT0_UNRAVEL(item, at);
    INPUT0_COMPUTE value = INPUT0_LOAD(data, INPUT0_INDEX_OF(at));
    index_t count = USES_INITIAL;
    const index_t walked = IS_INSIDE(at) ? ARG_WALKED : 0;
    for (index_t m = 0; m < walked; ++m) {
        UNRAVEL_WALKED(m, at);
        const index_t place = INPUT1_INDEX_OF(at);
        bool hit = true;
        for (int n = 0; n < INDEX_COUNT && hit; ++n) {
            const long index = (long)INPUT1_LOAD(indices, place + n * ARG_TUPLE_PITCH);
            hit = (index < 0 ? index + AXIS_SIZE(n) : index) == at[AXIS(n)];
        }
        if (!hit) continue;
        const INPUT0_COMPUTE update = INPUT2_LOAD(updates, INPUT2_INDEX_OF(at));
        value = count ? COMBINE(value, update) : update;
        ++count;
    }
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), FINISH(value, count));
}
