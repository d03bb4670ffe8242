// For each place of the output, the sum of the products of one or two inputs over the summed labels. The inputs
// are views over the labels of the output (one at least), then those that are summed; a label that an input
// does not have, or has with size 1, does not move it. Any unblocked layout and type.
// One work-item computes one element.
#include "clinfer.cl"

#ifndef INPUTS
#define INPUTS 2
#define LABELS 4
#define UNRAVEL_SUMMED(m, c) (c)[3] = (m)
#define ARG_SUMMED 16
#endif

KERNEL(einsum_ref)(const global INPUT0_TYPE* restrict input0,
#if INPUTS == 2
                   const global INPUT1_TYPE* restrict input1,
#endif
                   global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[LABELS];
    OUTPUT0_UNRAVEL(item, at);
    INPUT0_COMPUTE sum = 0;
    for (index_t m = 0; m < ARG_SUMMED; ++m) {
        UNRAVEL_SUMMED(m, at);
#if INPUTS == 2
        sum += INPUT0_LOAD(input0, INPUT0_INDEX_OF(at)) * INPUT1_LOAD(input1, INPUT1_INDEX_OF(at));
#else
        sum += INPUT0_LOAD(input0, INPUT0_INDEX_OF(at));
#endif
    }
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum);
}
