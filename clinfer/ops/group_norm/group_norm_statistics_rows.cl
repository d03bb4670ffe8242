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

#include "shared/rows.h"

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(group_norm_statistics_rows)(const global INPUT0_TYPE* restrict input,
                                   global SCRATCH0_TYPE* restrict statistics ARGS) {
    const index_t batch = (index_t)get_group_id(0) / INPUT0_SIZE_1, channel = (index_t)get_group_id(0) % INPUT0_SIZE_1;
    const index_t from = INPUT0_GET_INDEX(batch, channel, 0);
    GROUP_SHARED
    ROW_SUM(mean, x);
    mean /= INPUT0_SIZE_2;
    ROW_SUM(variance, (x - mean) * (x - mean));
    if (LANE == 0) {
        SCRATCH0_STORE(statistics, SCRATCH0_GET_INDEX(0, batch, channel), mean);
        SCRATCH0_STORE(statistics, SCRATCH0_GET_INDEX(1, batch, channel), variance / INPUT0_SIZE_2);
    }
}
