// Attention of a few queries on a CPU, with keys and values read where they lie (a cache of what came before): query
// [a, b, L, E], keys [a, b / GROUPS, S, E], values [a, b / GROUPS, S, V], mask [a, b, L, S], sink [a, b, L, 1], output
// [a, b, L, V]; the last axes of keys, values and output are contiguous. DEPTH vectors of 16 make an E, the last one of
// DEPTH_TAIL elements; WIDTH and WIDTH_TAIL likewise a V. The L queries of GROUPS heads that share keys are GROUPS * L
// rows, of which a work-item computes ROWS, walking the keys in blocks of KEYS = 32 (softmax.h). Rows behind the last
// are computed from it and not written. If IN_BYTE_ROWS, bytes are computed with: the product of a query q with a key
// is step * (bytes . q) + least * sum(q), and what the weights w make of the values the sum of (w * step) * bytes, plus
// that of w * least.
// Dimension 0: tiles of rows, 1: a times b / GROUPS.
#include "clinfer.cl"

#ifndef ROWS
#define ROWS 1
#define DEPTH 1
#define DEPTH_TAIL 16
#define WIDTH 1
#define WIDTH_TAIL 16
#define KEYS 32
#endif

#include "extras.h"
#include "softmax.h"
#include "shared/fetching.h"

// Rows of keys or values are asked for so many ahead.
#define ROWS_AHEAD 16
#define FETCH_ROW(p, bytes) \
    for (int b = 0; b < (int)(bytes); b += LINE_BYTES) FETCH_LINE((const global uchar*)(p) + b)

// The last vector of a row of keys or values: DEPTH_TAIL or WIDTH_TAIL elements from `from` on, then zeros.
float16 FUNC(end_of_key)(const global INPUT1_TYPE* key, const index_t from) {
    float elements[16];
    for (int i = 0; i < 16; ++i) elements[i] = i < DEPTH_TAIL ? INPUT1_LOAD(key, from + i) : 0;
    return vload16(0, elements);
}

float16 FUNC(end_of_value)(const global INPUT2_TYPE* value, const index_t from) {
    float elements[16];
    for (int i = 0; i < 16; ++i) elements[i] = i < WIDTH_TAIL ? INPUT2_LOAD(value, from + i) : 0;
    return vload16(0, elements);
}

#define LOAD_KEY(from, v) \
    (v < DEPTH - 1 || DEPTH_TAIL == 16 ? convert_float16(INPUT1_LOAD16(key, (from) + 16 * v)) \
                                       : FUNC(end_of_key)(key, (from) + 16 * v))
#define LOAD_VALUE(from, v) \
    (v < WIDTH - 1 || WIDTH_TAIL == 16 ? convert_float16(INPUT2_LOAD16(value, (from) + 16 * v)) \
                                       : FUNC(end_of_value)(value, (from) + 16 * v))

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(sdpa_rows)(const global INPUT0_TYPE* restrict query, const global INPUT1_TYPE* restrict key,
                  const global INPUT2_TYPE* restrict value, EXTRAS global OUTPUT0_TYPE* restrict output ARGS) {
    const int all_rows = GROUPS * OUTPUT0_SIZE_2, shared = OUTPUT0_SIZE_1 / GROUPS;
    const int first_row = (int)get_global_id(0) * ROWS;
    const int head = (int)get_global_id(1) % shared, a = (int)get_global_id(1) / shared;
    const float scale = SCALE_OF_SCORES;
    int heads[ROWS], rows[ROWS];
    float highest[ROWS], sums[ROWS], query_sums[ROWS], least_sums[ROWS];
    float16 queries[ROWS][DEPTH], totals[ROWS][WIDTH];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int row = min(first_row + r, all_rows - 1);
        heads[r] = head * GROUPS + row / OUTPUT0_SIZE_2;
        rows[r] = row % OUTPUT0_SIZE_2;
        float elements[DEPTH * 16];
        for (int e = 0; e < DEPTH * 16; ++e)
            elements[e] = e < INPUT0_SIZE_3 ? INPUT0_LOAD(query, INPUT0_GET_INDEX(a, heads[r], rows[r], e)) * scale : 0;
        #pragma unroll
        for (int v = 0; v < DEPTH; ++v) queries[r][v] = vload16(v, elements);
        query_sums[r] = least_sums[r] = 0;
        for (int e = 0; e < DEPTH * 16; ++e) query_sums[r] += elements[e];
        #pragma unroll
        for (int v = 0; v < WIDTH; ++v) totals[r][v] = 0;
        BEGIN_ROW(highest[r], sums[r], a, heads[r], rows[r]);
    }
    const int keys = INPUT1_SIZE_2;
    for (int first_key = 0; first_key < keys; first_key += KEYS) {
        const int count = min(KEYS, keys - first_key);
        float weights[ROWS][KEYS];
        for (int k = 0; k < count; ++k) {
            const int s = first_key + k, ahead = s + ROWS_AHEAD;
            const index_t from = INPUT1_GET_INDEX(ENTRY_OF_KEY(a, s), head, s, 0);
            const index_t later = INPUT1_GET_INDEX(ENTRY_OF_KEY(a, ahead), head, ahead, 0);
            FETCH_ROW(key + later, DEPTH * 16 * sizeof(INPUT1_TYPE));
            float16 products[ROWS];
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) products[r] = 0;
            #pragma unroll
            for (int v = 0; v < DEPTH; ++v) {
                const float16 x = LOAD_KEY(from, v);
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) products[r] = fma(queries[r][v], x, products[r]);
            }
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) weights[r][k] = FUNC(sum_of)(products[r]);
#if IN_BYTE_ROWS
            const float step = STEP_OF_ROW(key + from, INPUT1_SIZE_3), least = LEAST_OF_ROW(key + from, INPUT1_SIZE_3);
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) weights[r][k] = fma(weights[r][k], step, least * query_sums[r]);
#endif
        }
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) {
#if WITH_MASK
            FUNC(mask_scores)(weights[r], mask, INPUT3_GET_INDEX(a, heads[r], rows[r], first_key), count PASS_ARGS);
#endif
            const int seen = IS_CAUSAL ? min(count, rows[r] + 1 - first_key) : count;
            const float rescale = FUNC(weigh)(weights[r], seen, highest + r, sums + r);
            #pragma unroll
            for (int v = 0; v < WIDTH; ++v) totals[r][v] *= rescale;
            least_sums[r] *= rescale;
        }
        for (int k = 0; k < count; ++k) {
            const int s = first_key + k, ahead = s + ROWS_AHEAD;
            const index_t from = INPUT2_GET_INDEX(ENTRY_OF_KEY(a, s), head, s, 0);
            const index_t later = INPUT2_GET_INDEX(ENTRY_OF_KEY(a, ahead), head, ahead, 0);
            FETCH_ROW(value + later, WIDTH * 16 * sizeof(INPUT2_TYPE));
#if IN_BYTE_ROWS
            const float step = STEP_OF_ROW(value + from, INPUT2_SIZE_3);
            const float least = LEAST_OF_ROW(value + from, INPUT2_SIZE_3);
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                least_sums[r] = fma(weights[r][k], least, least_sums[r]);
                weights[r][k] *= step;
            }
#endif
            #pragma unroll
            for (int v = 0; v < WIDTH; ++v) {
                const float16 x = LOAD_VALUE(from, v);
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) totals[r][v] = fma((float16)weights[r][k], x, totals[r][v]);
            }
        }
    }
    for (int r = 0; r < min(ROWS, all_rows - first_row); ++r) {
        const float share = sums[r] > 0 ? 1 / sums[r] : 0;
#if IN_BYTE_ROWS
        for (int v = 0; v < WIDTH; ++v) totals[r][v] += least_sums[r];
#endif
        const index_t to = OUTPUT0_GET_INDEX(a, heads[r], rows[r], 0);
        for (int v = 0; v < WIDTH - (WIDTH_TAIL < 16); ++v) OUTPUT0_STORE16(output, to + 16 * v, totals[r][v] * share);
#if WIDTH_TAIL < 16
        float last[16];
        vstore16(totals[r][WIDTH - 1] * share, 0, last);
        for (int i = 0; i < WIDTH_TAIL; ++i) OUTPUT0_STORE(output, to + 16 * (WIDTH - 1) + i, last[i]);
#endif
    }
}
