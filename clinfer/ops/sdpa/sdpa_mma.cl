// Attention on NVIDIA's tensor cores: query [a, b, L, E], key [a, b, S, E], value [a, b, S, V] of f16, output [a, b, L,
// V], mask [a, b, L, S], sink [a, b, L, 1]; sums in float, weights rounded to f16.
// A group of 4 warps computes 64 output rows, a warp 16 of them (running_rows.h). Local memory holds the query rows and
// two blocks of keys and values, one of which is on its way: rows of QUERY_WIDTH and VALUE_WIDTH halves (32, 64 or
// 128), zeros behind E, V and S. Of them QUERY_STEPS and VALUE_STEPS times 16 are computed with, and of the last
// block's keys those that are there, rounded up to 16. GROUPS of b share one of the b of keys and values.
// Where masks hide all keys of a block from its rows, a warp passes over it; with BY_BLOCKS it is known beforehand what
// they do to blocks (mask_blocks.h), and groups copy no block that is hidden from all their rows, and read masks only
// where some keys are.
// The elements of a row lie together.
#include "clinfer.cl"

#ifndef KEYS
#define KEYS 64
#define ROWS 64
#define QUERY_WIDTH 64
#define VALUE_WIDTH 64
#define QUERY_STEPS 4
#define VALUE_STEPS 4
#define BY_BLOCKS 0
#endif

#include "extras.h"
#include "mask_blocks.h"
#include "shared/tensor_cores.h"

#define THREADS 128
#define PANEL_CHUNKS 16
#include "running_rows.h"

#define KEY_BYTES (KEYS * QUERY_WIDTH * 2)
#define BLOCK_BYTES (KEY_BYTES + KEYS * VALUE_WIDTH * 2)
#define QUERY_BYTES (ROWS * QUERY_WIDTH * 2)

// Adds a block's products to `scores`, and those of weights and values to `totals`, of `count` keys: without a branch
// for each 16 of them where all are there, so that products do not wait for one another.
#define ADD_SCORES(count) do { \
        _Pragma("unroll") for (int e_ = 0; e_ < QUERY_STEPS; ++e_) \
            _Pragma("unroll") for (int k_ = 0; k_ < KEYS / 16; ++k_) { \
                if (k_ * 16 >= (count)) continue; \
                uint right_[4]; \
                LOAD_FRAGMENTS(right_, block + CHUNK_AT(k_ * 16 + lane / 16 * 8 + lane % 8, e_ * 2 + lane / 8 % 2, \
                                                        QUERY_WIDTH / 8)); \
                MULTIPLY_ADD(scores[k_ * 2], rows[e_], right_[0], right_[1]); \
                MULTIPLY_ADD(scores[k_ * 2 + 1], rows[e_], right_[2], right_[3]); \
            } \
    } while (0)
#define ADD_VALUES(count) do { \
        _Pragma("unroll") for (int k_ = 0; k_ < KEYS / 16; ++k_) { \
            if (k_ * 16 >= (count)) continue; \
            const uint weights_[4] = WEIGHTS_OF(scores, k_); \
            _Pragma("unroll") for (int v_ = 0; v_ < VALUE_STEPS; ++v_) { \
                uint right_[4]; \
                LOAD_TRANSPOSED(right_, block + KEY_BYTES + CHUNK_AT(k_ * 16 + lane % 16, v_ * 2 + lane / 16, \
                                                                     VALUE_WIDTH / 8)); \
                MULTIPLY_ADD(totals[v_ * 2], weights_, right_[0], right_[1]); \
                MULTIPLY_ADD(totals[v_ * 2 + 1], weights_, right_[2], right_[3]); \
            } \
        } \
    } while (0)

#if WITH_MASK
// Whether masks hide all keys of a block from all rows of a warp.
INLINED bool FUNC(hides_all)(FUNC(masks) (*masks)[2]) {
    float most = -INFINITY;
    #pragma unroll
    for (int k = 0; k < KEYS / 8; ++k)
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float2 added = ADDED(masks[k][r]);
            most = fmax(most, fmax(added.x, added.y));
        }
    #pragma unroll
    for (int other = 1; other < 32; other *= 2) most = fmax(most, OF_LANE(most, other));
    return most == -INFINITY;
}
#endif

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(sdpa_mma)(const global INPUT0_TYPE* restrict query, const global INPUT1_TYPE* restrict key,
                 const global INPUT2_TYPE* restrict value, EXTRAS KINDS_PARAMETER
                 global OUTPUT0_TYPE* restrict output ARGS) {
    local uchar memory[QUERY_BYTES + 2 * BLOCK_BYTES] __attribute__((aligned(128)));
    const uint queries = SHARED(memory), blocks = queries + QUERY_BYTES;
    FIND_GROUP;
    COPY_QUERIES(queries);
    if (begin < keys) {
        COPY_KEYS(blocks, begin);
        COPY_VALUES(blocks + KEY_BYTES, begin);
    }
    COPIES_END();

    float totals[VALUE_STEPS * 2][4];
    FUNC(clear)(totals, VALUE_STEPS * 2);
    uint rows[QUERY_STEPS][4];
    for (int first_key = begin, turn = 0, next_key; first_key < keys; first_key = next_key, turn ^= 1) {
        const uint block = blocks + turn * BLOCK_BYTES, next_block = blocks + (turn ^ 1) * BLOCK_BYTES;
        const bool masked = IS_BLOCK_MASKED(first_key);
        if (masked) LOAD_MASKS(masks, first_key);
        next_key = SEEN_FROM(first_key + KEYS, keys, kinds_row);
        COPIES_WAIT(0);
        GROUP_BARRIER();
        if (first_key == begin) {
            #pragma unroll
            for (int e = 0; e < QUERY_STEPS; ++e)
                LOAD_FRAGMENTS(rows[e], queries + CHUNK_AT(warp * 16 + lane % 16, e * 2 + lane / 16, QUERY_WIDTH / 8));
        }
        if (next_key < keys) {
            COPY_KEYS(next_block, next_key);
            COPY_VALUES(next_block + KEY_BYTES, next_key);
        }
        COPIES_END();
        if (first_row + warp * 16 >= OUTPUT0_SIZE_2) continue;
#if WITH_MASK
        if (masked && FUNC(hides_all)(masks)) continue;
#endif
        const int left = keys - first_key;
        float scores[KEYS / 8][4], rescale[2];
        FUNC(clear)(scores, KEYS / 8);
        if (left >= KEYS) ADD_SCORES(KEYS);
        else ADD_SCORES(left);
        FUNC(weigh)(scores, &running, rescale, masked, masks, scale, first_key, own_row, SEEN_FROM_ALL(first_key),
                    keys);
        FUNC(rescale)(totals, VALUE_STEPS * 2, rescale);
        if (left >= KEYS) ADD_VALUES(KEYS);
        else ADD_VALUES(left);
    }
    FUNC(store_rows)(output, totals, VALUE_STEPS * 2, &running, a, b, own_row PASS_ARGS);
}
