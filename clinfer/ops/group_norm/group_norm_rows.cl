// (x - mean) / sqrt(variance + EPSILON) * scale + bias over GROUPS groups of channels, from the statistics of the
// channels. Views: data and output [B, C, pixels] with contiguous pixels, scale and bias [C], SCRATCH0 [2, B, C]:
// means, then variances. The variance of a group is the mean variance of its channels plus the variance of their
// means, as all channels have equally many pixels.
// A work-group of LANES work-items takes one channel of one picture; each lane loads vectors of VEC.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#define GROUPS 4
#define EPSILON 1e-5f
#undef SCRATCH0_GET_INDEX
#define SCRATCH0_GET_INDEX(c0, c1, c2) ((c0) * SCRATCH0_PITCH_0 + (c1) * SCRATCH0_PITCH_1 + (c2))
#undef INPUT0_GET_INDEX
#undef INPUT1_GET_INDEX
#undef INPUT2_GET_INDEX
#undef OUTPUT0_GET_INDEX
#define INPUT0_GET_INDEX(c0, c1, c2) ((c0) * INPUT0_PITCH_0 + (c1) * INPUT0_PITCH_1 + (c2))
#define INPUT1_GET_INDEX(c) (c)
#define INPUT2_GET_INDEX(c) (c)
#define OUTPUT0_GET_INDEX(c0, c1, c2) ((c0) * OUTPUT0_PITCH_0 + (c1) * OUTPUT0_PITCH_1 + (c2))
#endif

#include "shared/rows.h"

#define CHANNEL_INDEX(T) T##_GET_INDEX(batch, channel, 0)

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(group_norm_rows)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict scale,
                        const global INPUT2_TYPE* restrict bias, const global SCRATCH0_TYPE* restrict statistics,
                        global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t batch = (index_t)get_group_id(0) / INPUT0_SIZE_1, channel = (index_t)get_group_id(0) % INPUT0_SIZE_1;
    const index_t channels = INPUT0_SIZE_1 / GROUPS, first = channel / channels * channels;
    GROUP_SHARED

    INPUT0_COMPUTE mean = 0;
    for (index_t i = LANE; i < channels; i += LANES)
        mean += SCRATCH0_LOAD(statistics, SCRATCH0_GET_INDEX(0, batch, first + i));
    ADD_GROUP(mean);
    mean /= channels;
    INPUT0_COMPUTE variance = 0;
    for (index_t i = LANE; i < channels; i += LANES) {
        const INPUT0_COMPUTE x = SCRATCH0_LOAD(statistics, SCRATCH0_GET_INDEX(0, batch, first + i)) - mean;
        variance += x * x + SCRATCH0_LOAD(statistics, SCRATCH0_GET_INDEX(1, batch, first + i));
    }
    ADD_GROUP(variance);

    const INPUT0_COMPUTE factor = INPUT1_LOAD(scale, INPUT1_GET_INDEX(channel))
                                  / sqrt(variance / channels + (INPUT0_COMPUTE)EPSILON);
    const INPUT0_COMPUTE summand = INPUT2_LOAD(bias, INPUT2_GET_INDEX(channel));
    const index_t from = INPUT0_GET_INDEX(batch, channel, 0), to = OUTPUT0_GET_INDEX(batch, channel, 0);
    FUSED_ROW_START(CHANNEL_INDEX)
    FOR_VECTORS {
        VECTOR result = (LOAD_VECTOR(input, from + i) - mean) * factor + summand;
        FUSED_VECTOR(result, i)
        STORE_VECTOR(output, to + i, result);
    }
    FOR_REST {
        INPUT0_COMPUTE result = (INPUT0_LOAD(input, from + i) - mean) * factor + summand;
        FUSED_ROW_OPS(result, i)
        OUTPUT0_STORE(output, to + i, result);
    }
}
