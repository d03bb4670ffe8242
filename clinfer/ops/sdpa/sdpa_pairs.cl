// Attention of bf16 or, with TILES_OF_FLOATS, of floats (shared/float_products.h) on x86 CPUs with wide vectors: query
// [a, b, L, E], keys and values as sdpa_pack_keys_floats and sdpa_pack_values_floats pack them, and the output
// [a, b, L, V]; mask [a, b, L, S], sink [a, b, L, 1]. One work-item computes TILE_ROWS rows, walking the keys in spans
// of SPAN, a multiple of 64, with a running maximum and sum per row; the weights of a span are rounded to the type of
// the values, its sums stay float.
// Rows beyond L are computed from the last one and not written. GROUPS of b share one of the b of keys and values.
// Dimension 0: tiles of rows, 1: a times b.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define SPAN 128
#define DEPTH_STEPS 1
#define PANELS 1
#define ARG_KEYS 16
#define SCRATCH1_GET_INDEX SCRATCH0_GET_INDEX
#define SCRATCH1_PITCH_2 SCRATCH0_PITCH_2
#endif
// Of a tile: keys or columns of values, and vectors of 16 of them.
#define KEYS 32
#define VECTORS (KEYS / 16)

#include "extras.h"
#include "softmax.h"
#include "shared/float_products.h"

#define DEPTH (DEPTH_STEPS * STEP_DEPTH)
// Weights are at most 1, and no NaN that rounding would turn into a number.
#if TILES_OF_FLOATS
#define WEIGHTS16(weights) (weights)
#else
#define WEIGHTS16(weights) convert_ushort16(as_uint16(weights) + 0x8000 >> 16)
#endif

// Turns the first `seen` of `count` scores of a row into weights, the others up to whole groups of vectors into 0;
// returns the factor for what was summed with the weights of the spans before. Vectors of a group take turns, so that a
// maximum and a sum need not wait for the one before.
#define TURNS 4
float FUNC(weigh_span)(float* scores, TILE_VALUE* weights, const int seen, const int count, float* highest,
                       float* sum) {
    const int vectors = CEIL_DIV(count, TURNS * 16) * TURNS;
    for (int k = max(seen, 0); k < vectors * 16; ++k) scores[k] = -INFINITY;
    float16 most[TURNS], totals[TURNS];
    #pragma unroll
    for (int t = 0; t < TURNS; ++t) most[t] = -INFINITY, totals[t] = 0.0f;
    for (int v = 0; v < vectors; v += TURNS)
        #pragma unroll
        for (int t = 0; t < TURNS; ++t) most[t] = max(most[t], vload16(v + t, scores));
    const float top = max(*highest, FUNC(highest_of)(max(max(most[0], most[1]), max(most[2], most[3]))));
    const float base = top == -INFINITY ? 0 : top;
    const float rescale = top == *highest ? 1.0f : exp(*highest - base);
    for (int v = 0; v < vectors; v += TURNS)
        #pragma unroll
        for (int t = 0; t < TURNS; ++t) {
            const float16 weight = FUNC(exp_of)(vload16(v + t, scores) - base);
            totals[t] += weight;
            vstore16(WEIGHTS16(weight), v + t, weights);
        }
    *highest = top;
    *sum = *sum * rescale + FUNC(sum_of)((totals[0] + totals[1]) + (totals[2] + totals[3]));
    return rescale;
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(sdpa_pairs)(const global INPUT0_TYPE* restrict query, const global TILE_VALUE* restrict packed_keys,
                   const global TILE_VALUE* restrict packed_values, EXTRAS global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * TILE_ROWS;
    const int b = (int)get_global_id(1) % OUTPUT0_SIZE_1, a = (int)get_global_id(1) / OUTPUT0_SIZE_1;
    const int keys = IS_CAUSAL ? min((int)ARG_KEYS, min(first_row + TILE_ROWS, (int)OUTPUT0_SIZE_2)) : ARG_KEYS;
    const float scale = SCALE_OF_SCORES;
    const global TILE_VALUE* own_keys = packed_keys + SCRATCH0_GET_INDEX(a, b / GROUPS, 0, 0);
    const global TILE_VALUE* own_values = packed_values + SCRATCH1_GET_INDEX(a, b / GROUPS, 0, 0);
    TILE_VALUE queries[TILE_ROWS * DEPTH], weights[TILE_ROWS * SPAN];
    float scores[TILE_ROWS * SPAN], highest[TILE_ROWS], sums[TILE_ROWS];
    int rows[TILE_ROWS];
    for (int r = 0; r < TILE_ROWS; ++r) {
        rows[r] = min(first_row + r, (int)OUTPUT0_SIZE_2 - 1);
        for (int e = 0; e < DEPTH; ++e)
            queries[r * DEPTH + e] = e < INPUT0_SIZE_3 ? query[INPUT0_GET_INDEX(a, b, rows[r], e)] : 0;
        BEGIN_ROW(highest[r], sums[r], a, b, rows[r]);
    }
    FRAME(products);
    ulong results[PANELS][FRAME_WORDS] __attribute__((aligned(64)));
    ulong taps_of_queries[TAP_NUMBERS], taps_of_weights[TAP_NUMBERS];
    products[OTHER_BYTES] = SCRATCH0_PITCH_2 * sizeof(TILE_VALUE);
    READ_ONCE(products, taps_of_queries, DEPTH * sizeof(TILE_VALUE), TILE_ROWS - 1);
    products[HALF_AT] = 0;
    products[FIRST_BEGINS] = 1;
    products[STEP_BYTES] = STEP_DEPTH * sizeof(TILE_VALUE);
    for (int p = 0; p < PANELS; ++p) {
        BEGIN_FRAME(results[p]);
        SHARE_SHAPES(results[p], products);
        results[p][OTHER_BYTES] = SCRATCH1_PITCH_2 * sizeof(TILE_VALUE);
        READ_ONCE(results[p], taps_of_weights, SPAN * sizeof(TILE_VALUE), TILE_ROWS - 1);
        results[p][HALF_AT] = results[p][FIRST_BEGINS] = 0;
        results[p][STEP_BYTES] = STEP_DEPTH * sizeof(TILE_VALUE);
        for (int i = 0; i < VECTORS * TILE_ROWS; ++i) vstore16((float16)0.0f, i, frame_sums(results[p]));
    }
    for (int first_key = 0; first_key < keys; first_key += SPAN) {
        const int count = min(SPAN, keys - first_key);
        for (int k = 0; k < count; k += KEYS) {
            for (int i = 0; i < VECTORS; ++i) vstore16((float16)0.0f, i, frame_sums(products));
            products[LEFT_AT] = (ulong)queries;
            products[RIGHT_AT] = (ulong)(own_keys + (first_key + k) / 16 * SCRATCH0_PITCH_2);
            products[LATER_AT] = products[RIGHT_AT];
            products[STEP_COUNT] = DEPTH_STEPS;
            ADD_PRODUCTS(products);
            for (int r = 0; r < TILE_ROWS; ++r)
                for (int v = 0; v < VECTORS; ++v)
                    vstore16(vload16(VECTORS * r + v, frame_sums(products)) * scale, v, scores + r * SPAN + k);
        }
        for (int r = 0; r < TILE_ROWS; ++r) {
            float* own = scores + r * SPAN;
#if WITH_MASK
            FUNC(mask_scores)(own, mask, INPUT3_GET_INDEX(a, b, rows[r], first_key), count PASS_ARGS);
#endif
            const int seen = IS_CAUSAL ? min(count, rows[r] + 1 - first_key) : count;
            const float rescale = FUNC(weigh_span)(own, weights + r * SPAN, seen, count, highest + r, sums + r);
            for (int p = 0; p < PANELS && rescale != 1.0f; ++p)
                for (int v = VECTORS * r; v < VECTORS * (r + 1); ++v)
                    vstore16(vload16(v, frame_sums(results[p])) * rescale, v, frame_sums(results[p]));
        }
        for (int p = 0; p < PANELS; ++p) {
            results[p][LEFT_AT] = (ulong)weights;
            results[p][RIGHT_AT] = (ulong)(own_values + VECTORS * p * SCRATCH1_PITCH_2 + first_key * 16);
            results[p][LATER_AT] = results[p][RIGHT_AT];
            results[p][STEP_COUNT] = (count + STEP_DEPTH - 1) / STEP_DEPTH;
            ADD_PRODUCTS(results[p]);
        }
    }
    END_TILES();
    for (int r = 0; r < min(TILE_ROWS, (int)OUTPUT0_SIZE_2 - first_row); ++r) {
        const float share = sums[r] > 0 ? 1 / sums[r] : 0;
        const int to = OUTPUT0_GET_INDEX(a, b, rows[r], 0);
        for (int v = 0; v < OUTPUT0_SIZE_3; v += 16) {
            const float16 result = vload16(VECTORS * r + v / 16 % VECTORS, frame_sums(results[v / KEYS])) * share;
            FUNC(store_columns)(output, to + v, result, OUTPUT0_SIZE_3 - v);
        }
    }
}
