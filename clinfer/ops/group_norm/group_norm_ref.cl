// (x - mean) / sqrt(variance + EPSILON) * scale + bias over GROUPS groups of channels; any layout, rank and float
// type. One work-item normalises one group of one picture in three passes: mean, variance, result. The last
// work-group is not full.
// Views: data and output [B, C, ...], scale and bias [C].
#include "clinfer.cl"

#ifndef GROUPS
#define GROUPS 4
#define EPSILON 1e-5f
#define SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#undef INPUT1_GET_INDEX
#undef INPUT2_GET_INDEX
#define INPUT1_GET_INDEX(c) (c)
#define INPUT2_GET_INDEX(c) (c)
#endif

// The coordinates of the next element; channels are counted on without an end.
void FUNC(step)(index_t* at, const index_t* sizes) {
    for (int axis = INPUT0_RANK - 1; axis >= 2; --axis) {
        if (++at[axis] < sizes[axis]) return;
        at[axis] = 0;
    }
    ++at[1];
}

KERNEL(group_norm_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict scale,
                       const global INPUT2_TYPE* restrict bias, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t sizes[] = SIZES;
    const index_t batch = (index_t)get_global_id(0) / GROUPS, group = (index_t)get_global_id(0) % GROUPS;
    if (batch >= INPUT0_SIZE_0) return;
    const index_t channels = INPUT0_SIZE_1 / GROUPS;
    index_t count = channels;
    for (int axis = 2; axis < INPUT0_RANK; ++axis) count *= sizes[axis];

    index_t at[MAX_RANK] = {batch, group * channels};
    INPUT0_COMPUTE mean = 0;
    for (index_t n = 0; n < count; ++n) {
        mean += INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
        FUNC(step)(at, sizes);
    }
    mean /= count;
    at[1] = group * channels;
    INPUT0_COMPUTE variance = 0;
    for (index_t n = 0; n < count; ++n) {
        const INPUT0_COMPUTE x = INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) - mean;
        variance += x * x;
        FUNC(step)(at, sizes);
    }
    const INPUT0_COMPUTE deviation = sqrt(variance / count + (INPUT0_COMPUTE)EPSILON);
    at[1] = group * channels;
    for (index_t n = 0; n < count; ++n) {
        const INPUT0_COMPUTE x = (INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) - mean) / deviation;
        INPUT0_COMPUTE result = x * INPUT1_LOAD(scale, INPUT1_GET_INDEX(at[1]))
                                + INPUT2_LOAD(bias, INPUT2_GET_INDEX(at[1]));
        FUSED_OPS(result, at)
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
        FUNC(step)(at, sizes);
    }
}
