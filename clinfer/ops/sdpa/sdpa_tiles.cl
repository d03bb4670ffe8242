// Attention on a CPU: query [a, b, L, E], packed keys (see sdpa_pack_keys), values [a, b, S, 16 * VECTORS] and the
// output [a, b, L, V] with contiguous last axes; mask [a, b, L, S], sink [a, b, L, 1]. VALUE is input 2 or, where V
// is no multiple of 16, what sdpa_pack_values made of it; TAIL is V modulo 16. One work-item computes ROWS output
// rows, walking the keys in blocks of KEYS = 32 with a running maximum and sum per row, HELD vectors of each row in
// registers at a time. Rows beyond L are computed from the last one and not written. GROUPS of b share one of the b of
// keys and values.
// Dimension 0: tiles of rows, 1: a times b.
#include "clinfer.cl"

#ifndef ROWS
#define ROWS 6
#define VECTORS 1
#define HELD 1
#define TAIL 0
#define VALUE_TYPE INPUT2_TYPE
#define VALUE_LOAD16 INPUT2_LOAD16
#define VALUE_GET_INDEX INPUT2_GET_INDEX
#define VALUE_SIZE_2 INPUT2_SIZE_2
#define KEYS 32
#endif

#include "extras.h"
#include "softmax.h"

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(sdpa_tiles)(const global INPUT0_TYPE* restrict query, const global float* restrict packed,
                   const global VALUE_TYPE* restrict value, EXTRAS global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * ROWS;
    const int b = (int)get_global_id(1) % OUTPUT0_SIZE_1;
    const int a = (int)get_global_id(1) / OUTPUT0_SIZE_1;
    const int all_keys = VALUE_SIZE_2;
    const int keys = IS_CAUSAL ? min(all_keys, min(first_row + ROWS, OUTPUT0_SIZE_2)) : all_keys;
    const float scale = SCALE_OF_SCORES;
    int rows[ROWS], queries[ROWS];
    float highest[ROWS], sums[ROWS];
    float16 totals[ROWS][VECTORS];
    for (int r = 0; r < ROWS; ++r) {
        rows[r] = min(first_row + r, OUTPUT0_SIZE_2 - 1);
        queries[r] = INPUT0_GET_INDEX(a, b, rows[r], 0);
        BEGIN_ROW(highest[r], sums[r], a, b, rows[r]);
        for (int v = 0; v < VECTORS; ++v) totals[r][v] = 0;
    }
    for (int first_key = 0; first_key < keys; first_key += KEYS) {
        const int count = min(KEYS, keys - first_key);
        float16 scores[ROWS][2];
        for (int r = 0; r < ROWS; ++r) scores[r][0] = scores[r][1] = 0;
        const global float* columns = packed + SCRATCH0_GET_INDEX(a, b / GROUPS, first_key / KEYS, 0);
        for (int e = 0; e < INPUT0_SIZE_3; ++e) {
            const float16 low = vload16(0, columns + e * KEYS), high = vload16(1, columns + e * KEYS);
            for (int r = 0; r < ROWS; ++r) {
                const float q = INPUT0_LOAD(query, queries[r] + e * INPUT0_PITCH_3);
                scores[r][0] += q * low;
                scores[r][1] += q * high;
            }
        }
        float weights[ROWS][KEYS];
        for (int r = 0; r < ROWS; ++r) {
            vstore16(scores[r][0] * scale, 0, weights[r]);
            vstore16(scores[r][1] * scale, 1, weights[r]);
        }
        for (int r = 0; r < ROWS; ++r) {
#if WITH_MASK
            FUNC(mask_scores)(weights[r], mask, INPUT3_GET_INDEX(a, b, rows[r], first_key), count PASS_ARGS);
#endif
            const int seen = IS_CAUSAL ? min(count, rows[r] + 1 - first_key) : count;
            const float rescale = FUNC(weigh)(weights[r], seen, highest + r, sums + r);
            if (rescale != 1.0f)
                for (int v = 0; v < VECTORS; ++v) totals[r][v] *= rescale;
        }
        for (int part = 0; part < VECTORS; part += HELD) {
            float16 held[ROWS][HELD];
            for (int r = 0; r < ROWS; ++r)
                for (int v = 0; v < HELD; ++v) held[r][v] = totals[r][part + v];
            for (int k = 0; k < count; ++k) {
                const int from = VALUE_GET_INDEX(a, b / GROUPS, first_key + k, 16 * part);
                for (int v = 0; v < HELD; ++v) {
                    const float16 x = VALUE_LOAD16(value, from + 16 * v);
                    for (int r = 0; r < ROWS; ++r) held[r][v] += weights[r][k] * x;
                }
            }
            for (int r = 0; r < ROWS; ++r)
                for (int v = 0; v < HELD; ++v) totals[r][part + v] = held[r][v];
        }
    }
    for (int r = 0; r < min(ROWS, OUTPUT0_SIZE_2 - first_row); ++r) {
        const float share = sums[r] > 0 ? 1 / sums[r] : 0;
        const int to = OUTPUT0_GET_INDEX(a, b, rows[r], 0);
        for (int v = 0; v < VECTORS - (TAIL > 0); ++v) OUTPUT0_STORE16(output, to + 16 * v, totals[r][v] * share);
#if TAIL
        float last[16];
        vstore16(totals[r][VECTORS - 1] * share, 0, last);
        for (int i = 0; i < TAIL; ++i) OUTPUT0_STORE(output, to + 16 * (VECTORS - 1) + i, last[i]);
#endif
    }
}
