// Rotary positions along the last axis of the views, whose halves are turned against each other; any layout, rank
// and float type. INPUT0 data, INPUT1 cosine and INPUT2 sine are stretched to the output.
// One work-item computes up to SPAN pairs of elements; work-groups of LOCAL work-items, the last of which is not full.
#include "clinfer.cl"

#ifndef SPAN
#define SPAN 64
#define LOCAL 1
#endif

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(rope_ref)(const global INPUT0_TYPE* restrict data, const global INPUT1_TYPE* restrict cosine,
                 const global INPUT2_TYPE* restrict sine, global OUTPUT0_TYPE* restrict output ARGS) {
    const int pairs = OUTPUT0_SIZE_LAST / 2, spans = CEIL_DIV(pairs, SPAN);
    const int first = (int)get_global_id(0) % spans * SPAN;
    const int row = (int)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    int at[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    const int end = min(first + SPAN, pairs);
    for (int i = first; i < end; ++i) {
        at[OUTPUT0_RANK - 1] = i;
        const int low_at = OUTPUT0_INDEX_OF(at);
        const INPUT0_COMPUTE low = INPUT0_LOAD(data, INPUT0_INDEX_OF(at));
        const INPUT0_COMPUTE low_cosine = INPUT1_LOAD(cosine, INPUT1_INDEX_OF(at));
        const INPUT0_COMPUTE low_sine = INPUT2_LOAD(sine, INPUT2_INDEX_OF(at));
        at[OUTPUT0_RANK - 1] = pairs + i;
        const INPUT0_COMPUTE high = INPUT0_LOAD(data, INPUT0_INDEX_OF(at));
        OUTPUT0_STORE(output, low_at, low * low_cosine - high * low_sine);
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), high * INPUT1_LOAD(cosine, INPUT1_INDEX_OF(at))
                                                    + low * INPUT2_LOAD(sine, INPUT2_INDEX_OF(at)));
    }
}
