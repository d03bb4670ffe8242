// Copies the elements of one view into another of the same sizes; any layout and rank but 0.
// One work-item copies up to SPAN elements along the last axis; work-groups of LOCAL work-items, the last
// of which is not full. Without fused operations the views hold raw storage units (unsigned integers of the element's
// size).
#include "clinfer.cl"

#ifndef SPAN
#define SPAN 64
#define LOCAL 1
#endif

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(copy_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_LAST, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN;
    const index_t row = (index_t)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    const index_t end = min(first + SPAN, OUTPUT0_SIZE_LAST);
    for (index_t i = first; i < end; ++i) {
        at[OUTPUT0_RANK - 1] = i;
#if HAS_EPILOGUE
        INPUT0_COMPUTE result = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
        FUSED_OPS(result, at)
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
#else
        output[OUTPUT0_INDEX_OF(at)] = input[INPUT0_INDEX_OF(at)];
#endif
    }
}
