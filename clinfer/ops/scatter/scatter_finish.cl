// Writes each element of the output: what was combined in its value, for a mean divided by how much that is. One
// work-item writes up to SPAN of them along the last axis. Output in any layout, values and counts densely by its
// coordinates.
#include "clinfer.cl"

#ifndef SPAN
#define SPAN 64
#define LOCAL 1
#define FINISH(sum, count) (sum)
#endif

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(scatter_finish)(const global INPUT0_TYPE* restrict values, const global int* restrict counts,
                       global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t spans = CEIL_DIV(INPUT0_SIZE_LAST, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN;
    const index_t start = (index_t)get_global_id(0) / spans * INPUT0_SIZE_LAST;
    if (start >= INPUT0_COUNT) return;
    index_t at[MAX_RANK];
    INPUT0_UNRAVEL(start, at);
    const index_t end = min(first + SPAN, INPUT0_SIZE_LAST);
    for (index_t i = first; i < end; ++i) {
        at[INPUT0_RANK - 1] = i;
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), FINISH(INPUT0_LOAD(values, start + i), counts[start + i]));
    }
}
