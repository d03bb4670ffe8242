// Running sums along the last axis of the views; any unblocked layout, rank and type.
// One work-item walks one row, from its end with REVERSE; EXCLUSIVE leaves each element out of its sum.
#include "clinfer.cl"

#ifndef EXCLUSIVE
#define EXCLUSIVE 0
#define REVERSE 0
#define ARG_ROWS 4096
#endif

KERNEL(cum_sum_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t row = get_global_id(0);
    if (row >= ARG_ROWS) return;
    index_t at[MAX_RANK];
    INPUT0_UNRAVEL(row * INPUT0_SIZE_LAST, at);
    INPUT0_COMPUTE sum = 0;
    for (index_t i = 0; i < INPUT0_SIZE_LAST; ++i) {
        at[INPUT0_RANK - 1] = REVERSE ? INPUT0_SIZE_LAST - 1 - i : i;
        const INPUT0_COMPUTE value = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), EXCLUSIVE ? sum : sum + value);
        sum += value;
    }
}
