// (x - mean) / sqrt(variance + EPSILON) * scale + bias over GROUPS groups of channels, from the statistics of the
// channels. Views: data and output [B, C, pixels] in blocks of 16 channels, scale and bias [C], SCRATCH0
// [2, B, C]: means, then variances (how they make those of a group: see group_norm_rows).
// One work-item computes up to PIXELS pixels of one block. Dimension 0: pixels, 1: batch times blocks.
#include "clinfer.cl"

#define BLOCK 16

#ifndef GROUPS
#define GROUPS 4
#define EPSILON 1e-5f
#define PIXELS 256
#undef SCRATCH0_GET_INDEX
#define SCRATCH0_GET_INDEX(c0, c1, c2) ((c0) * SCRATCH0_PITCH_0 + (c1) * SCRATCH0_PITCH_1 + (c2))
#undef INPUT0_GET_INDEX
#undef INPUT1_GET_INDEX
#undef INPUT2_GET_INDEX
#undef OUTPUT0_GET_INDEX
#define INPUT0_GET_INDEX(c0, c1, c2) ((c0) * INPUT0_PITCH_0 + (c1) * INPUT0_PITCH_1 + (c2) * BLOCK)
#define INPUT1_GET_INDEX(c) (c)
#define INPUT2_GET_INDEX(c) (c)
#define OUTPUT0_GET_INDEX(c0, c1, c2) ((c0) * OUTPUT0_PITCH_0 + (c1) * OUTPUT0_PITCH_1 + (c2) * BLOCK)
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(group_norm_fsv16)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict scale,
                         const global INPUT2_TYPE* restrict bias, const global SCRATCH0_TYPE* restrict statistics,
                         global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t blocks = CEIL_DIV(INPUT0_SIZE_1, BLOCK), channels = INPUT0_SIZE_1 / GROUPS;
    const index_t batch = (index_t)get_global_id(1) / blocks, channel = (index_t)get_global_id(1) % blocks * BLOCK;

    INPUT0_COMPUTE means[BLOCK] = {0}, factors[BLOCK] = {0}, summands[BLOCK] = {0};
    INPUT0_COMPUTE mean = 0, deviation = 1;
    for (index_t lane = 0; lane < min((index_t)BLOCK, INPUT0_SIZE_1 - channel); ++lane) {
        const index_t own = channel + lane, first = own / channels * channels;
        if (lane == 0 || own == first) {
            mean = 0;
            for (index_t i = 0; i < channels; ++i)
                mean += SCRATCH0_LOAD(statistics, SCRATCH0_GET_INDEX(0, batch, first + i));
            mean /= channels;
            INPUT0_COMPUTE variance = 0;
            for (index_t i = 0; i < channels; ++i) {
                const INPUT0_COMPUTE x = SCRATCH0_LOAD(statistics, SCRATCH0_GET_INDEX(0, batch, first + i)) - mean;
                variance += x * x + SCRATCH0_LOAD(statistics, SCRATCH0_GET_INDEX(1, batch, first + i));
            }
            deviation = sqrt(variance / channels + (INPUT0_COMPUTE)EPSILON);
        }
        means[lane] = mean;
        factors[lane] = INPUT1_LOAD(scale, INPUT1_GET_INDEX(own)) / deviation;
        summands[lane] = INPUT2_LOAD(bias, INPUT2_GET_INDEX(own));
    }

    const INPUT0_COMPUTE16 center = vload16(0, means), factor = vload16(0, factors), summand = vload16(0, summands);
    const index_t from = INPUT0_GET_INDEX(batch, channel, 0), to = OUTPUT0_GET_INDEX(batch, channel, 0);
    const index_t start = (index_t)get_global_id(0) * PIXELS, end = min(start + PIXELS, INPUT0_SIZE_2);
    for (index_t i = start; i < end; ++i) {
        INPUT0_COMPUTE16 result = (INPUT0_LOAD16(input, from + i * BLOCK) - center) * factor + summand;
        const index_t at[] = {batch, channel, i};
        FUSED_OPS16(result, at, 1)
        OUTPUT0_STORE16(output, to + i * BLOCK, result);
    }
}
