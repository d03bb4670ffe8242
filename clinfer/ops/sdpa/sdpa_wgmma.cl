// Attention as sdpa_mma.cl has it, by groups of four warps that multiply together (warp_groups.h): a work-group
// computes ROWS = 128 output rows. Local memory holds the query rows and two blocks of keys and of values, as panels of
// rows of 64 halves: widths are 64 or 128.
// While the values of a block are multiplied by their weights, weights are made of the next block's scores
// (FlashAttention-3, Shah et al. 2024): a turn of the loop has the scores of one block and the values of the one
// before.
#include "clinfer.cl"

#ifndef KEYS
#define KEYS 64
#define ROWS 128
#define QUERY_WIDTH 64
#define VALUE_WIDTH 64
#define BY_BLOCKS 0
#endif

#include "extras.h"
#include "mask_blocks.h"
#include "shared/tensor_cores.h"

#define DEPTH KEYS
#define TILE_COLUMNS KEYS
#define RIGHT_ALONG_K 1
#include "shared/warp_groups.h"

#define THREADS 256
#define PANEL_CHUNKS 8
#include "running_rows.h"

#define PANEL_BYTES(rows) ((rows) * 128)
#define KEY_BYTES (KEYS * QUERY_WIDTH * 2)
#define VALUE_BYTES (KEYS * VALUE_WIDTH * 2)
#define QUERY_BYTES (ROWS * QUERY_WIDTH * 2)

#if VALUE_WIDTH == 64
#define ADD_VALUES MULTIPLY_HELD_64
#define VALUES_WAIT HELD_64_WAIT
#else
#define ADD_VALUES MULTIPLY_HELD_128
#define VALUES_WAIT HELD_128_WAIT
#endif

INLINED void FUNC(pack_weights)(uint (*weights)[4], float (*scores)[4]) {
    #pragma unroll
    for (int k = 0; k < KEYS / 16; ++k) {
        const uint packed[4] = WEIGHTS_OF(scores, k);
        #pragma unroll
        for (int n = 0; n < 4; ++n) weights[k][n] = packed[n];
    }
}

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(sdpa_wgmma)(const global INPUT0_TYPE* restrict query, const global INPUT1_TYPE* restrict key,
                   const global INPUT2_TYPE* restrict value, EXTRAS KINDS_PARAMETER
                   global OUTPUT0_TYPE* restrict output ARGS) {
    local uchar memory[QUERY_BYTES + 2 * (KEY_BYTES + VALUE_BYTES)] __attribute__((aligned(1024)));
    const uint queries = SHARED(memory), key_blocks = queries + QUERY_BYTES, value_blocks = key_blocks + 2 * KEY_BYTES;
    FIND_GROUP;
    COPY_QUERIES(queries);
    if (begin < keys) COPY_KEYS(key_blocks, begin);
    COPIES_END();

    float totals[VALUE_WIDTH / 8][4], scores[KEYS / 8][4], rescale[2];
    uint weights[KEYS / 16][4];
    FUNC(clear)(totals, VALUE_WIDTH / 8);
// Waits for the keys of a block, and the values of the one before; asks for its values, and the keys of the next one;
// begins its scores.
#define BEGIN_SCORES(first, next, turn) do { \
        COPIES_WAIT(0); \
        COPIES_SHOWN(); \
        GROUP_BARRIER(); \
        if (next < keys) COPY_KEYS(key_blocks + ((turn) ^ 1) * KEY_BYTES, next); \
        COPY_VALUES(value_blocks + (turn) * VALUE_BYTES, first); \
        COPIES_END(); \
        FUNC(clear)(scores, KEYS / 8); \
        _Pragma("unroll") for (int e_ = 0; e_ < QUERY_WIDTH / 64; ++e_) \
            MULTIPLY_STEP(scores, queries + PANEL_BYTES(e_ * ROWS + warp / 4 * 64), \
                          key_blocks + (turn) * KEY_BYTES + PANEL_BYTES(e_ * KEYS)); \
    } while (0)
#define WEIGH(first, masked) \
    FUNC(weigh)(scores, &running, rescale, masked, masks, scale, first, own_row, SEEN_FROM_ALL(first), keys)

    if (begin < keys) {
        int next_key = SEEN_FROM(begin + KEYS, keys, kinds_row), turn = 0;
        const bool is_first_masked = IS_BLOCK_MASKED(begin);
        if (is_first_masked) LOAD_MASKS(masks, begin);
        BEGIN_SCORES(begin, next_key, 0);
        PRODUCTS_WAIT(scores);
        WEIGH(begin, is_first_masked);
        FUNC(pack_weights)(weights, scores);
        while (next_key < keys) {
            const int first_key = next_key;
            const bool masked = IS_BLOCK_MASKED(first_key);
            if (masked) LOAD_MASKS(masks, first_key);
            next_key = SEEN_FROM(first_key + KEYS, keys, kinds_row);
            turn ^= 1;
            BEGIN_SCORES(first_key, next_key, turn);
            ADD_VALUES(totals, weights, value_blocks + (turn ^ 1) * VALUE_BYTES);
            OLDER_PRODUCTS_WAIT(scores);
            WEIGH(first_key, masked);
            VALUES_WAIT(totals, weights);
            FUNC(rescale)(totals, VALUE_WIDTH / 8, rescale);
            FUNC(pack_weights)(weights, scores);
        }
        COPIES_WAIT(0);
        COPIES_SHOWN();
        GROUP_BARRIER();
        ADD_VALUES(totals, weights, value_blocks + turn * VALUE_BYTES);
        VALUES_WAIT(totals, weights);
    }
    FUNC(store_rows)(output, totals, VALUE_WIDTH / 8, &running, a, b, own_row PASS_ARGS);
}
