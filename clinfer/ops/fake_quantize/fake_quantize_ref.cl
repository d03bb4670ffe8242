// Rounds each element to one of a few values between two bounds. All tensors are views that broadcast to
// the output; any layout, rank and float type. One work-item computes one element.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef QUANTIZE
#define QUANTIZE(T, a, b, c, d, e) (a)
#endif

KERNEL(fake_quantize_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict low,
                          const global INPUT2_TYPE* restrict high, const global INPUT3_TYPE* restrict to_low,
                          const global INPUT4_TYPE* restrict to_high, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK] = {0};
    OUTPUT0_UNRAVEL(item, at);
    const INPUT0_COMPUTE a = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
    const INPUT0_COMPUTE b = INPUT1_LOAD(low, INPUT1_INDEX_OF(at)), c = INPUT2_LOAD(high, INPUT2_INDEX_OF(at));
    const INPUT0_COMPUTE d = INPUT3_LOAD(to_low, INPUT3_INDEX_OF(at)), e = INPUT4_LOAD(to_high, INPUT4_INDEX_OF(at));
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), QUANTIZE(INPUT0_COMPUTE, a, b, c, d, e));
}
