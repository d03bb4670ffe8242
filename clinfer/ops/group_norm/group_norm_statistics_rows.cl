// Mean and variance of every channel, for group_norm_rows. Views: data [B, C, pixels] with contiguous pixels,
// SCRATCH0 [2, B, C]: means, then variances.
// A work-group of LANES work-items takes one channel of one picture; each lane loads vectors of VEC.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#undef SCRATCH0_GET_INDEX
#define SCRATCH0_GET_INDEX(c0, c1, c2) ((c0) * SCRATCH0_PITCH_0 + (c1) * SCRATCH0_PITCH_1 + (c2))
#undef INPUT0_GET_INDEX
#define INPUT0_GET_INDEX(c0, c1, c2) ((c0) * INPUT0_PITCH_0 + (c1) * INPUT0_PITCH_1 + (c2))
#endif

#if VEC == 16
#define VECTOR INPUT0_COMPUTE16
#define LOAD_VECTOR INPUT0_LOAD16
#else
#define VECTOR INPUT0_COMPUTE4
#define LOAD_VECTOR INPUT0_LOAD4
#endif

INPUT0_COMPUTE FUNC(add_lanes)(VECTOR v) {
#if VEC == 16
    const INPUT0_COMPUTE8 v8 = v.lo + v.hi;
    const INPUT0_COMPUTE4 v4 = v8.lo + v8.hi;
#else
    const INPUT0_COMPUTE4 v4 = v;
#endif
    return (v4.x + v4.y) + (v4.z + v4.w);
}

#if LANES > 1
#define ADD_GROUP(value) GROUP_ADD(value, shared, lane, LANES)
#else
#define ADD_GROUP(value)
#endif

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(group_norm_statistics_rows)(const global INPUT0_TYPE* restrict input,
                                   global SCRATCH0_TYPE* restrict statistics ARGS) {
    const int batch = (int)get_group_id(0) / INPUT0_SIZE_1, channel = (int)get_group_id(0) % INPUT0_SIZE_1;
    const int lane = get_local_id(0);
    const int from = INPUT0_GET_INDEX(batch, channel, 0);
    const int vectors_end = INPUT0_SIZE_2 / VEC * VEC;
#if LANES > 1
    local INPUT0_COMPUTE shared[LANES];
#endif

    VECTOR sums = 0;
    for (int i = lane * VEC; i < vectors_end; i += LANES * VEC) sums += LOAD_VECTOR(input, from + i);
    INPUT0_COMPUTE mean = FUNC(add_lanes)(sums);
    for (int i = vectors_end + lane; i < INPUT0_SIZE_2; i += LANES) mean += INPUT0_LOAD(input, from + i);
    ADD_GROUP(mean);
    mean /= INPUT0_SIZE_2;

    VECTOR squares = 0;
    for (int i = lane * VEC; i < vectors_end; i += LANES * VEC) {
        const VECTOR x = LOAD_VECTOR(input, from + i) - mean;
        squares += x * x;
    }
    INPUT0_COMPUTE variance = FUNC(add_lanes)(squares);
    for (int i = vectors_end + lane; i < INPUT0_SIZE_2; i += LANES) {
        const INPUT0_COMPUTE x = INPUT0_LOAD(input, from + i) - mean;
        variance += x * x;
    }
    ADD_GROUP(variance);
    if (lane == 0) {
        SCRATCH0_STORE(statistics, SCRATCH0_GET_INDEX(0, batch, channel), mean);
        SCRATCH0_STORE(statistics, SCRATCH0_GET_INDEX(1, batch, channel), variance / INPUT0_SIZE_2);
    }
}
