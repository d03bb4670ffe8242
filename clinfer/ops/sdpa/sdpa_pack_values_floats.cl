// Packs values [a, b, S, V] of bf16 for sdpa_pairs or of floats for sdpa_floats: scratch [a, b, groups, steps * 256]
// holds, for each 16 columns and each step of 16 rows, 8 pairs of rows x 16 columns x 2, of floats (PAIRS 0) 16 rows x
// 16 columns; what is missing of either is zero.
// One work-item packs one step. Dimension 0: steps, 1: a times b.
#include "clinfer.cl"

#ifndef COLUMN_GROUPS
#define COLUMN_GROUPS 2
#define PAIRS 1
#define SCRATCH1_GET_INDEX SCRATCH0_GET_INDEX
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(sdpa_pack_values_floats)(const global INPUT2_TYPE* restrict value, global INPUT2_TYPE* restrict packed ARGS) {
    const int step = get_global_id(0);
    const int b = (int)get_global_id(1) % INPUT2_SIZE_1, a = (int)get_global_id(1) / INPUT2_SIZE_1;
    const int count = INPUT2_SIZE_2 - step * 16;
    const int from = INPUT2_GET_INDEX(a, b, step * 16, 0);
    for (int group = 0; group < COLUMN_GROUPS; ++group) {
        global INPUT2_TYPE* to = packed + SCRATCH1_GET_INDEX(a, b, group, step * 256);
        for (int row = 0; row < 16; ++row)
            for (int i = 0; i < 16; ++i)
                to[PAIRS ? (row / 2 * 16 + i) * 2 + row % 2 : row * 16 + i] =
                    row < count && group * 16 + i < INPUT2_SIZE_3
                        ? value[from + row * INPUT2_PITCH_2 + group * 16 + i] : 0;
    }
}
