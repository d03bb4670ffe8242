// Packs keys [a, b, S, E] of bf16 for sdpa_pairs or of floats for sdpa_floats: scratch [a, b, groups, steps * 256]
// holds, for each 16 keys and each step of 16 elements, 8 pairs of elements x 16 keys x 2, of floats (PAIRS 0) 16
// elements x 16 keys; what is missing of either is zero.
// One work-item packs one group of 16 keys. Dimension 0: groups, 1: a times b.
#include "clinfer.cl"

#ifndef DEPTH_STEPS
#define DEPTH_STEPS 1
#define PAIRS 1
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(sdpa_pack_keys_floats)(const global INPUT1_TYPE* restrict key, global INPUT1_TYPE* restrict packed ARGS) {
    const int group = get_global_id(0);
    const int b = (int)get_global_id(1) % INPUT1_SIZE_1, a = (int)get_global_id(1) / INPUT1_SIZE_1;
    const int count = INPUT1_SIZE_2 - group * 16;
    const int from = INPUT1_GET_INDEX(a, b, group * 16, 0);
    global INPUT1_TYPE* to = packed + SCRATCH0_GET_INDEX(a, b, group, 0);
    for (int e = 0; e < DEPTH_STEPS * 16; ++e)
        for (int k = 0; k < 16; ++k)
            to[PAIRS ? (e / 2 * 16 + k) * 2 + e % 2 : e * 16 + k] =
                e < INPUT1_SIZE_3 && k < count ? key[from + k * INPUT1_PITCH_2 + e] : 0;
}
