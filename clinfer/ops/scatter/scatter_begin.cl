// Writes the elements of the data as values of the type that they are computed in, and what each counts for:
// USES_INITIAL. One work-item writes up to SPAN of them along the last axis. Data in any layout, values and counts
// densely by its coordinates.
#include "clinfer.cl"

#ifndef SPAN
#define SPAN 64
#define LOCAL 1
#define USES_INITIAL 1
#endif

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(scatter_begin)(const global INPUT0_TYPE* restrict data, global OUTPUT0_TYPE* restrict values,
                      global int* restrict counts ARGS) {
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_LAST, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN;
    const index_t start = (index_t)get_global_id(0) / spans * OUTPUT0_SIZE_LAST;
    if (start >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(start, at);
    const index_t end = min(first + SPAN, OUTPUT0_SIZE_LAST);
    for (index_t i = first; i < end; ++i) {
        at[OUTPUT0_RANK - 1] = i;
        OUTPUT0_STORE(values, start + i, INPUT0_LOAD(data, INPUT0_INDEX_OF(at)));
        counts[start + i] = USES_INITIAL;
    }
}
