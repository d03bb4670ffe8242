// Attention through local memory, for GPUs: query [a, b, L, E], key [a, b, S, E], value [a, b, S, V], output
// [a, b, L, V], mask [a, b, L, S], sink [a, b, L, 1]; any pitches, any float type of 16 or 32 bits.
// A group of 16 x 8 work-items computes 32 output rows, 4 of them each, walking the keys in blocks of KEYS with a
// running maximum and sum per row. Local memory holds the query rows (QUERY_WIDTH is E rounded up to 4), a block of
// keys, later of values (VALUE_WIDTH is V rounded up to 16), and the weights of the block; missing ones are 0.
// GROUPS of b share one of the b of keys and values.
// Dimension 0: 16; 1: tiles of rows, 8 each; 2: a times b.
#include "clinfer.cl"

#ifndef KEYS
#define KEYS 64
#define QUERY_WIDTH 64
#define VALUE_WIDTH 64
#endif

#include "extras.h"

#define ITEMS_X 16
#define ITEMS_Y 8
#define ITEMS (ITEMS_X * ITEMS_Y)
#define OWN_ROWS 4
#define ROWS (ITEMS_Y * OWN_ROWS)
#define OWN_KEYS (KEYS / ITEMS_X)
#define OWN_VALUES (VALUE_WIDTH / ITEMS_X)
// Rows of 4 more elements start in other banks.
#define QUERY_PITCH (QUERY_WIDTH + 4)
#define WEIGHT_PITCH (KEYS + 4)
#define BLOCK_PITCH (QUERY_WIDTH > VALUE_WIDTH ? QUERY_PITCH : VALUE_WIDTH + 4)

__attribute__((reqd_work_group_size(ITEMS_X, ITEMS_Y, 1)))
KERNEL(sdpa_local)(const global INPUT0_TYPE* restrict query, const global INPUT1_TYPE* restrict key,
                   const global INPUT2_TYPE* restrict value, EXTRAS global OUTPUT0_TYPE* restrict output ARGS) {
    local float queries[ROWS * QUERY_PITCH], block[KEYS * BLOCK_PITCH], weights[ROWS * WEIGHT_PITCH];
    const int x = get_local_id(0), y = get_local_id(1), item = y * ITEMS_X + x;
    const index_t first_row = (index_t)get_group_id(1) * ROWS;
    const index_t b = (index_t)get_global_id(2) % OUTPUT0_SIZE_1;
    const index_t a = (index_t)get_global_id(2) / OUTPUT0_SIZE_1;
    const float scale = SCALE_OF_SCORES;
    for (int n = item; n < ROWS * QUERY_WIDTH; n += ITEMS) {
        const index_t row = first_row + n / QUERY_WIDTH;
        const int e = n % QUERY_WIDTH;
        queries[n / QUERY_WIDTH * QUERY_PITCH + e] = row < OUTPUT0_SIZE_2 && e < INPUT0_SIZE_3
            ? INPUT0_LOAD(query, INPUT0_GET_INDEX(a, b, row, e)) * scale : 0;
    }
    float highest[OWN_ROWS], sums[OWN_ROWS], totals[OWN_ROWS][OWN_VALUES];
    #pragma unroll
    for (int r = 0; r < OWN_ROWS; ++r) {
        BEGIN_ROW(highest[r], sums[r], a, b, min(first_row + y + r * ITEMS_Y, OUTPUT0_SIZE_2 - 1));
        #pragma unroll
        for (int v = 0; v < OWN_VALUES; ++v) totals[r][v] = 0;
    }
    const index_t keys = IS_CAUSAL ? min((index_t)INPUT2_SIZE_2, first_row + ROWS) : INPUT2_SIZE_2;
    for (index_t first_key = 0; first_key < keys; first_key += KEYS) {
        const int count = min((index_t)KEYS, keys - first_key);
        for (int n = item; n < KEYS * QUERY_WIDTH; n += ITEMS) {
            const int k = n / QUERY_WIDTH, e = n % QUERY_WIDTH;
            const index_t s = first_key + k;
            block[k * BLOCK_PITCH + e] = k < count && e < INPUT0_SIZE_3
                ? INPUT1_LOAD(key, INPUT1_GET_INDEX(ENTRY_OF_KEY(a, s), b / GROUPS, s, e)) : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        float scores[OWN_ROWS][OWN_KEYS];
        #pragma unroll
        for (int r = 0; r < OWN_ROWS; ++r)
            #pragma unroll
            for (int k = 0; k < OWN_KEYS; ++k) scores[r][k] = 0;
        for (int e = 0; e < QUERY_WIDTH; e += 4) {
            float4 left[OWN_ROWS], right[OWN_KEYS];
            #pragma unroll
            for (int r = 0; r < OWN_ROWS; ++r) left[r] = vload4(0, queries + (y + r * ITEMS_Y) * QUERY_PITCH + e);
            #pragma unroll
            for (int k = 0; k < OWN_KEYS; ++k) right[k] = vload4(0, block + (x + k * ITEMS_X) * BLOCK_PITCH + e);
            #pragma unroll
            for (int r = 0; r < OWN_ROWS; ++r)
                #pragma unroll
                for (int k = 0; k < OWN_KEYS; ++k) scores[r][k] += dot(left[r], right[k]);
        }
        #pragma unroll
        for (int r = 0; r < OWN_ROWS; ++r)
            #pragma unroll
            for (int k = 0; k < OWN_KEYS; ++k) {
                const index_t row = first_row + y + r * ITEMS_Y, at = first_key + x + k * ITEMS_X;
                float score = scores[r][k];
                if (row >= OUTPUT0_SIZE_2 || at >= keys || (IS_CAUSAL && at > row)) score = -INFINITY;
#if WITH_MASK
                else {
#if MASK_IS_BOOLEAN
                    if (!INPUT3_LOAD(mask, INPUT3_GET_INDEX(a, b, row, at))) score = -INFINITY;
#else
                    score += INPUT3_LOAD(mask, INPUT3_GET_INDEX(a, b, row, at));
#endif
                }
#endif
                scores[r][k] = score;
                weights[(y + r * ITEMS_Y) * WEIGHT_PITCH + x + k * ITEMS_X] = score;
            }
        barrier(CLK_LOCAL_MEM_FENCE);

        float bases[OWN_ROWS];
        #pragma unroll
        for (int r = 0; r < OWN_ROWS; ++r) {
            const local float* own = weights + (y + r * ITEMS_Y) * WEIGHT_PITCH;
            float4 top4 = vload4(0, own);
            for (int k = 4; k < KEYS; k += 4) top4 = fmax(top4, vload4(0, own + k));
            const float top = fmax(highest[r], fmax(fmax(top4.x, top4.y), fmax(top4.z, top4.w)));
            bases[r] = top == -INFINITY ? 0 : top;
            const float rescale = exp(highest[r] - bases[r]);
            highest[r] = top;
            sums[r] *= rescale;
            #pragma unroll
            for (int v = 0; v < OWN_VALUES; ++v) totals[r][v] *= rescale;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        #pragma unroll
        for (int r = 0; r < OWN_ROWS; ++r)
            #pragma unroll
            for (int k = 0; k < OWN_KEYS; ++k)
                weights[(y + r * ITEMS_Y) * WEIGHT_PITCH + x + k * ITEMS_X] = exp(scores[r][k] - bases[r]);
        for (int n = item; n < KEYS * VALUE_WIDTH; n += ITEMS) {
            const int k = n / VALUE_WIDTH, i = n % VALUE_WIDTH;
            const index_t s = first_key + k;
            block[k * BLOCK_PITCH + i] = k < count && i < INPUT2_SIZE_3
                ? INPUT2_LOAD(value, INPUT2_GET_INDEX(ENTRY_OF_KEY(a, s), b / GROUPS, s, i)) : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int k = 0; k < KEYS; k += 4) {
            float4 own[OWN_ROWS];
            #pragma unroll
            for (int r = 0; r < OWN_ROWS; ++r) {
                own[r] = vload4(0, weights + (y + r * ITEMS_Y) * WEIGHT_PITCH + k);
                sums[r] += (own[r].x + own[r].y) + (own[r].z + own[r].w);
            }
            #pragma unroll
            for (int v = 0; v < OWN_VALUES; ++v) {
                const local float* column = block + k * BLOCK_PITCH + x + v * ITEMS_X;
                const float4 right = (float4)(column[0], column[BLOCK_PITCH], column[2 * BLOCK_PITCH],
                                              column[3 * BLOCK_PITCH]);
                #pragma unroll
                for (int r = 0; r < OWN_ROWS; ++r) totals[r][v] += dot(own[r], right);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    #pragma unroll
    for (int r = 0; r < OWN_ROWS; ++r) {
        const index_t row = first_row + y + r * ITEMS_Y;
        const float share = sums[r] > 0 ? 1 / sums[r] : 0;
        #pragma unroll
        for (int v = 0; v < OWN_VALUES; ++v) {
            const int i = x + v * ITEMS_X;
            if (row < OUTPUT0_SIZE_2 && i < OUTPUT0_SIZE_3)
                OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(a, b, row, i), totals[r][v] * share);
        }
    }
}
