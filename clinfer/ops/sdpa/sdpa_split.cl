// Attention of a few queries to many keys, for GPUs: query [a, b, L, E], key [a, b, S, E], value [a, b, S, V], mask
// [a, b, L, S]; any pitches, any float type of 16 or 32 bits ("Flash-Decoding", Dao, Haziza, Massa and Sizov 2023).
// GROUPS of b share one of the b of keys and values, which are read for all of them at once: ROWS rows at most, the L
// queries of each.
// Work-groups share the keys of an entry, ARG_KEYS each, and go through them in blocks of a key for each work-item,
// with a running maximum and sum per row. sdpa_split_sum.cl puts together what they find: totals [groups, ROWS, V], and
// maxima and sums [groups, ROWS, 2].
// Groups: a times b of keys; shares of the keys.
#include "clinfer.cl"

#ifndef ROWS
#define ROWS 4
#define ITEMS 64
#define QUERY_WIDTH 64
#define WIDTH 64
#define ARG_KEYS 64
#endif

#include "extras.h"

#define CHUNK 16
// Work-items with values: each has VECTOR neighbouring ones of every TURNS-th key.
#define VECTOR 8
#define ACROSS CEIL_DIV(WIDTH, VECTOR)
#define TURNS (ITEMS / ACROSS)

INLINED float8 FUNC(load_values)(const global INPUT2_TYPE* value, const index_t from, const int first ARGS) {
    if (INPUT2_PITCH_3 == 1 && first + VECTOR <= INPUT2_SIZE_3) return INPUT2_LOAD8(value, from + first);
    float values[VECTOR];
    for (int n = 0; n < VECTOR; ++n)
        values[n] = INPUT2_LOAD(value, from + min(first + n, (int)INPUT2_SIZE_3 - 1) * INPUT2_PITCH_3);
    return vload8(0, values);
}

__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
KERNEL(sdpa_split)(const global INPUT0_TYPE* restrict query, const global INPUT1_TYPE* restrict key,
                   const global INPUT2_TYPE* restrict value, EXTRAS global float* restrict totals_found,
                   global float* restrict sums_found ARGS) {
    local float queries[ROWS][QUERY_WIDTH], weights[ROWS][ITEMS], tops[ROWS][ITEMS / ROWS];
    local float8 parts[TURNS][ACROSS];
    const int item = get_local_id(0), group = get_group_id(0), turn = item / ACROSS, place = item % ACROSS;
    const int shares = CEIL_DIV((int)INPUT2_SIZE_2, ARG_KEYS), share = group % shares;
    const int heads = INPUT1_SIZE_1, b = group / shares % heads, a = group / shares / heads;
    const int length = INPUT0_SIZE_2, rows = GROUPS * length;
    const float scale = SCALE_OF_SCORES;
    for (int n = item; n < ROWS * QUERY_WIDTH; n += ITEMS) {
        const int r = n / QUERY_WIDTH, e = n % QUERY_WIDTH;
        queries[r][e] = r < rows && e < INPUT0_SIZE_3
            ? INPUT0_LOAD(query, INPUT0_GET_INDEX(a, b * GROUPS + r / length, r % length, e)) * scale : 0;
    }
    float highest[ROWS], sums[ROWS];
    float8 totals[ROWS];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        highest[r] = -INFINITY;
        sums[r] = 0;
        totals[r] = 0;
    }
    const int end = min((share + 1) * ARG_KEYS, (int)INPUT2_SIZE_2);
    for (int first_key = share * ARG_KEYS; first_key < end; first_key += ITEMS) {
        const int count = min(ITEMS, end - first_key), at = first_key + item;
        barrier(CLK_LOCAL_MEM_FENCE);
        float scores[ROWS];
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) scores[r] = 0;
        if (item < count) {
            const index_t from = INPUT1_GET_INDEX(ENTRY_OF_KEY(a, at), b, at, 0);
            const int whole = INPUT1_PITCH_3 == 1 ? (int)INPUT1_SIZE_3 / CHUNK * CHUNK : 0;
            #pragma unroll 4
            for (int e = 0; e < whole; e += CHUNK) {
                const float16 keys = convert_float16(INPUT1_LOAD16(key, from + e));
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const float16 products = keys * vload16(0, queries[r] + e);
                    const float8 eight = products.lo + products.hi;
                    const float4 four = eight.lo + eight.hi;
                    scores[r] += (four.x + four.y) + (four.z + four.w);
                }
            }
            for (int e = whole; e < INPUT1_SIZE_3; ++e) {
                const float one = INPUT1_LOAD(key, from + e * INPUT1_PITCH_3);
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) scores[r] = fma(one, queries[r][e], scores[r]);
            }
        }
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int row = length == 1 ? 0 : r % length;
            if (item >= count || r >= rows || (IS_CAUSAL && at > row)) scores[r] = -INFINITY;
#if WITH_MASK
            else {
                const index_t place = INPUT3_GET_INDEX(a, b * GROUPS + r / length, row, at);
#if MASK_IS_BOOLEAN
                if (!INPUT3_LOAD(mask, place)) scores[r] = -INFINITY;
#else
                scores[r] += INPUT3_LOAD(mask, place);
#endif
            }
#endif
            weights[r][item] = scores[r];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        // The maximum of a row by ITEMS / ROWS work-items first.
        {
            const int r = item % ROWS, part = item / ROWS;
            float top = -INFINITY;
            #pragma unroll
            for (int n = 0; n < ROWS; ++n) top = fmax(top, weights[r][part * ROWS + n]);
            tops[r][part] = top;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            float top = highest[r];
            for (int part = 0; part < ITEMS / ROWS; ++part) top = fmax(top, tops[r][part]);
            const float base = top == -INFINITY ? 0 : top, rescale = exp(highest[r] - base);
            highest[r] = top;
            sums[r] *= rescale;
            totals[r] *= rescale;
            weights[r][item] = exp(scores[r] - base);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (turn >= TURNS) continue;
        #pragma unroll 8
        for (int k = turn; k < count; k += TURNS) {
            const index_t from = INPUT2_GET_INDEX(ENTRY_OF_KEY(a, first_key + k), b, first_key + k, 0);
            const float8 own = FUNC(load_values)(value, from, place * VECTOR PASS_ARGS);
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float weight = weights[r][k];
                sums[r] += weight;
                totals[r] = fma((float8)weight, own, totals[r]);
            }
        }
    }
    // Each turn's totals and sums, row by row.
    for (int r = 0; r < ROWS; ++r) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (turn < TURNS) {
            parts[turn][place] = totals[r];
            if (!place) weights[0][turn] = sums[r];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const local float* found = (const local float*)parts;
        const long row = (long)group * ROWS + r;
        for (int v = item; v < WIDTH; v += ITEMS) {
            float total = 0;
            for (int n = 0; n < TURNS; ++n) total += found[n * ACROSS * VECTOR + v];
            totals_found[row * WIDTH + v] = total;
        }
        if (!item) {
            float sum = 0;
            for (int n = 0; n < TURNS; ++n) sum += weights[0][n];
            sums_found[row * 2] = highest[r];
            sums_found[row * 2 + 1] = sum;
        }
    }
}
