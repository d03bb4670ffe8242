// (data - mean) / sqrt(variance + EPSILON) * gamma + beta per channel (axis 1); any layout and float type.
// One work-item computes up to SPAN elements along the last axis; work-groups of LOCAL work-items, the last
// of which is not full. The inputs in order: data, gamma, beta, mean, variance.
#include "clinfer.cl"

#ifndef EPSILON
#define EPSILON 1e-5f
#define SPAN 64
#define LOCAL 1
#undef INPUT1_GET_INDEX
#undef INPUT2_GET_INDEX
#undef INPUT3_GET_INDEX
#undef INPUT4_GET_INDEX
#define INPUT1_GET_INDEX(c) (c)
#define INPUT2_GET_INDEX(c) (c)
#define INPUT3_GET_INDEX(c) (c)
#define INPUT4_GET_INDEX(c) (c)
#endif

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(batch_norm_ref)(const global INPUT0_TYPE* restrict data, const global INPUT1_TYPE* restrict gamma,
                       const global INPUT2_TYPE* restrict beta, const global INPUT3_TYPE* restrict mean,
                       const global INPUT4_TYPE* restrict variance, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_LAST, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN;
    const index_t row = (index_t)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    const index_t end = min(first + SPAN, OUTPUT0_SIZE_LAST);
    for (index_t i = first; i < end; ++i) {
        at[OUTPUT0_RANK - 1] = i;
        const INPUT0_COMPUTE scale = INPUT1_LOAD(gamma, INPUT1_GET_INDEX(at[1]))
                                   / sqrt(INPUT4_LOAD(variance, INPUT4_GET_INDEX(at[1])) + EPSILON);
        const INPUT0_COMPUTE x = INPUT0_LOAD(data, INPUT0_INDEX_OF(at)) - INPUT3_LOAD(mean, INPUT3_GET_INDEX(at[1]));
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), x * scale + INPUT2_LOAD(beta, INPUT2_GET_INDEX(at[1])));
    }
}
