// Mean and variance of every channel, for group_norm_fsv16. Views: data [B, C, pixels] in blocks of 16 channels,
// SCRATCH0 [2, B, C]: means, then variances. One work-item takes one block of one picture.
#include "clinfer.cl"

#define BLOCK 16

#ifndef GROUPS
#define GROUPS 4
#undef SCRATCH0_GET_INDEX
#define SCRATCH0_GET_INDEX(c0, c1, c2) ((c0) * SCRATCH0_PITCH_0 + (c1) * SCRATCH0_PITCH_1 + (c2))
#undef INPUT0_GET_INDEX
#define INPUT0_GET_INDEX(c0, c1, c2) ((c0) * INPUT0_PITCH_0 + (c1) * INPUT0_PITCH_1 + (c2) * BLOCK)
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(group_norm_statistics_fsv16)(const global INPUT0_TYPE* restrict input,
                                    global SCRATCH0_TYPE* restrict statistics ARGS) {
    const index_t blocks = CEIL_DIV(INPUT0_SIZE_1, BLOCK);
    const index_t batch = (index_t)get_global_id(0) / blocks, channel = (index_t)get_global_id(0) % blocks * BLOCK;
    const index_t from = INPUT0_GET_INDEX(batch, channel, 0);
    INPUT0_COMPUTE16 mean = 0;
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i) mean += INPUT0_LOAD16(input, from + i * BLOCK);
    mean /= (INPUT0_COMPUTE)INPUT0_SIZE_2;
    INPUT0_COMPUTE16 variance = 0;
    for (index_t i = 0; i < INPUT0_SIZE_2; ++i) {
        const INPUT0_COMPUTE16 x = INPUT0_LOAD16(input, from + i * BLOCK) - mean;
        variance += x * x;
    }
    variance /= (INPUT0_COMPUTE)INPUT0_SIZE_2;

    INPUT0_COMPUTE means[BLOCK], variances[BLOCK];
    vstore16(mean, 0, means);
    vstore16(variance, 0, variances);
    for (index_t i = 0; i < min((index_t)BLOCK, INPUT0_SIZE_1 - channel); ++i) {
        SCRATCH0_STORE(statistics, SCRATCH0_GET_INDEX(0, batch, channel + i), means[i]);
        SCRATCH0_STORE(statistics, SCRATCH0_GET_INDEX(1, batch, channel + i), variances[i]);
    }
}
