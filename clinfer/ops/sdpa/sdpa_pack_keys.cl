// Transposes keys [a, b, S, E] for sdpa_tiles: scratch [a, b, blocks, E * KEYS] holds, per block of KEYS keys and
// per element of the head, the KEYS values side by side; missing keys are zero. Keys are floats or, if IN_BYTE_ROWS,
// rows of bytes (shared/byte_rows.h).
// One work-item packs one block. Dimension 0: blocks, 1: a times b.
#include "clinfer.cl"

#ifndef KEYS
#define KEYS 32
#define IN_BYTE_ROWS 0
#endif

#include "shared/byte_rows.h"

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(sdpa_pack_keys)(const global INPUT1_TYPE* restrict key, global float* restrict packed ARGS) {
    const int block = get_global_id(0);
    const int b = (int)get_global_id(1) % INPUT1_SIZE_1;
    const int a = (int)get_global_id(1) / INPUT1_SIZE_1;
    const int first = block * KEYS;
    const int count = min(KEYS, INPUT1_SIZE_2 - first);
    const int from = INPUT1_GET_INDEX(a, b, first, 0);
    global float* to = packed + SCRATCH0_GET_INDEX(a, b, block, 0);
#if IN_BYTE_ROWS
    for (int k = 0; k < KEYS; ++k) {
        const global uchar* row = key + from + min(k, count - 1) * INPUT1_PITCH_2;
        const float step = STEP_OF_ROW(row, INPUT1_SIZE_3), least = LEAST_OF_ROW(row, INPUT1_SIZE_3);
        for (int e = 0; e < INPUT1_SIZE_3; ++e) to[e * KEYS + k] = k < count ? fma((float)row[e], step, least) : 0;
    }
#else
    for (int e = 0; e < INPUT1_SIZE_3; ++e) {
        for (int k = 0; k < count; ++k) to[e * KEYS + k] = INPUT1_LOAD(key, from + k * INPUT1_PITCH_2 + e);
        for (int k = count; k < KEYS; ++k) to[e * KEYS + k] = 0;
    }
#endif
}
