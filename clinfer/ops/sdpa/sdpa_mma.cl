// Attention on NVIDIA's tensor cores: query [a, b, L, E], key [a, b, S, E], value [a, b, S, V] of f16, output
// [a, b, L, V], mask [a, b, L, S], sink [a, b, L, 1]; sums in float, weights rounded to f16.
// A group of 4 warps computes 64 output rows, a warp 16 of them, walking the keys in blocks of KEYS with a running
// maximum and sum per row (FlashAttention-2, Dao 2023). Local memory holds the query rows and two blocks of keys and
// values, one of which is on its way: rows of QUERY_WIDTH and VALUE_WIDTH halves (32, 64 or 128), zeros behind E, V and
// S. Of them QUERY_STEPS and VALUE_STEPS times 16 are computed with, and of the last block's keys those that are there,
// rounded up to 16. Scores are in units of log(2), so that exp2 takes them. GROUPS of b share one of the b of keys and
// values. Masks are asked for a block ahead; where they hide all keys of a block from its rows, a warp passes over it.
// The elements of a row lie together. Groups: tiles of rows, the last ones, which see the most keys, first; a times b.
#include "clinfer.cl"

#ifndef KEYS
#define KEYS 64
#define QUERY_WIDTH 64
#define VALUE_WIDTH 64
#define QUERY_STEPS 4
#define VALUE_STEPS 4
#endif

#include "extras.h"
#include "shared/tensor_cores.h"

#define LOG2_E 1.44269504f
#define THREADS 128
#define ROWS 64
#define KEY_BYTES (KEYS * QUERY_WIDTH * 2)
#define BLOCK_BYTES (KEY_BYTES + KEYS * VALUE_WIDTH * 2)
#define QUERY_BYTES (ROWS * QUERY_WIDTH * 2)

// Starts copying rows first to first + height of [.., rows, width] to local memory; `there` rows and `length` elements
// of each are there.
INLINED void FUNC(copy_rows)(const uint to, const global half* from, const int height, const int width,
                             const int there, const int length, const int pitch, const bool aligned) {
    const int chunks = width / 8, row = get_local_id(0) / chunks, chunk = get_local_id(0) % chunks;
    const int count = clamp(length - chunk * 8, 0, 8);
#define FROM(i) (from + (long)(row + (i) * (THREADS / chunks)) * pitch + chunk * 8)
#define HALVES(i) (row + (i) * (THREADS / chunks) < there ? count : 0)
    COPY_CHUNKS(COPY16, height * chunks / THREADS, to + CHUNK_AT(row, chunk, chunks), THREADS * 16, FROM, HALVES,
                aligned);
#undef FROM
#undef HALVES
}

#if WITH_MASK
// The masks of two neighbouring keys for one row: what is added to its scores.
#if MASK_IS_BOOLEAN || defined(INPUT3_IS_F16)
typedef uint FUNC(masks);
#define NO_KEYS 0xFC00FC00
#define ADDED(masks) clinfer_unpack_halves(masks)
#else
typedef float2 FUNC(masks);
#define NO_KEYS (float2)(-INFINITY)
#define ADDED(masks) (masks)
#endif
// Those of elements `at` and the next one, of which so many are there; no keys in the place of others.
INLINED FUNC(masks) FUNC(load_masks)(const global INPUT3_TYPE* mask, const index_t at, const int there ARGS) {
    FUNC(masks) found = NO_KEYS;
#if MASK_IS_BOOLEAN
    if (there > 0 && INPUT3_LOAD(mask, at)) found &= 0xFFFF0000;
    if (there > 1 && INPUT3_LOAD(mask, at + INPUT3_PITCH_3)) found &= 0xFFFF;
#elif defined(INPUT3_IS_F16)
    const global ushort* halves = (const global ushort*)mask;
    if (there > 1 && INPUT3_PITCH_3 == 1 && at % 2 == 0) return *(const global uint*)(halves + at);
    if (there > 0) found = found & 0xFFFF0000 | halves[at];
    if (there > 1) found = found & 0xFFFF | (uint)halves[at + INPUT3_PITCH_3] << 16;
#else
    if (there > 0) found.x = INPUT3_LOAD(mask, at);
    if (there > 1) found.y = INPUT3_LOAD(mask, at + INPUT3_PITCH_3);
#endif
    return found;
}
#endif

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
            const uint weights_[4] = {PACK_HALVES(scores[k_ * 2][0], scores[k_ * 2][1]), \
                                      PACK_HALVES(scores[k_ * 2][2], scores[k_ * 2][3]), \
                                      PACK_HALVES(scores[k_ * 2 + 1][0], scores[k_ * 2 + 1][1]), \
                                      PACK_HALVES(scores[k_ * 2 + 1][2], scores[k_ * 2 + 1][3])}; \
            _Pragma("unroll") for (int v_ = 0; v_ < VALUE_STEPS; ++v_) { \
                uint right_[4]; \
                LOAD_TRANSPOSED(right_, block + KEY_BYTES + CHUNK_AT(k_ * 16 + lane % 16, v_ * 2 + lane / 16, \
                                                                     VALUE_WIDTH / 8)); \
                MULTIPLY_ADD(totals[v_ * 2], weights_, right_[0], right_[1]); \
                MULTIPLY_ADD(totals[v_ * 2 + 1], weights_, right_[2], right_[3]); \
            } \
        } \
    } while (0)

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(sdpa_mma)(const global INPUT0_TYPE* restrict query, const global INPUT1_TYPE* restrict key,
                 const global INPUT2_TYPE* restrict value, EXTRAS global OUTPUT0_TYPE* restrict output ARGS) {
    local uchar memory[QUERY_BYTES + 2 * BLOCK_BYTES] __attribute__((aligned(128)));
    const uint queries = SHARED(memory), blocks = queries + QUERY_BYTES;
    const int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32;
    const int first_row = (CEIL_DIV((int)OUTPUT0_SIZE_2, ROWS) - 1 - (int)get_group_id(0)) * ROWS;
    const int own_row = first_row + warp * 16 + lane / 4;
    const int b = (int)get_group_id(1) % OUTPUT0_SIZE_1, a = (int)get_group_id(1) / OUTPUT0_SIZE_1;
    const int length = INPUT0_SIZE_3, width = INPUT2_SIZE_3;
    const int keys = IS_CAUSAL ? min((int)INPUT2_SIZE_2, first_row + ROWS) : INPUT2_SIZE_2;
    const float scale = SCALE_OF_SCORES * LOG2_E;
    const global half* key_rows = (const global half*)key + INPUT1_GET_INDEX(a, b / GROUPS, 0, 0);
    const global half* value_rows = (const global half*)value + INPUT2_GET_INDEX(a, b / GROUPS, 0, 0);
    const bool keys_aligned = IS_ALIGNED(key_rows, INPUT1_PITCH_2);
    const bool values_aligned = IS_ALIGNED(value_rows, INPUT2_PITCH_2);
#define COPY_BLOCK(to, first) do { \
        FUNC(copy_rows)(to, key_rows + (long)(first) * INPUT1_PITCH_2, KEYS, QUERY_WIDTH, keys - (first), length, \
                        INPUT1_PITCH_2, keys_aligned); \
        FUNC(copy_rows)((to) + KEY_BYTES, value_rows + (long)(first) * INPUT2_PITCH_2, KEYS, VALUE_WIDTH, \
                        keys - (first), width, INPUT2_PITCH_2, values_aligned); \
    } while (0)

    const global half* query_rows = (const global half*)query + INPUT0_GET_INDEX(a, b, first_row, 0);
    FUNC(copy_rows)(queries, query_rows, ROWS, QUERY_WIDTH, OUTPUT0_SIZE_2 - first_row, length, INPUT0_PITCH_2,
                    IS_ALIGNED(query_rows, INPUT0_PITCH_2));
    COPY_BLOCK(blocks, 0);
    COPIES_END();

    // A lane holds values of rows own_row and own_row + 8.
    float highest[2], sums[2], totals[VALUE_STEPS * 2][4];
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
#if WITH_SINK
        highest[r] = LOG2_E * INPUT5_LOAD(sink, INPUT5_GET_INDEX(a, b, min(own_row + r * 8, OUTPUT0_SIZE_2 - 1), 0));
        // Each of the 4 lanes that share a row adds a part of its sum.
        sums[r] = lane % 4 == 0;
#else
        highest[r] = -INFINITY;
        sums[r] = 0;
#endif
    }
    #pragma unroll
    for (int v = 0; v < VALUE_STEPS * 2; ++v)
        #pragma unroll
        for (int n = 0; n < 4; ++n) totals[v][n] = 0;
    uint rows[QUERY_STEPS][4];
#if WITH_MASK
    index_t mask_rows[2];
    #pragma unroll
    for (int r = 0; r < 2; ++r)
        mask_rows[r] = INPUT3_GET_INDEX(a, b, min(own_row + r * 8, (int)OUTPUT0_SIZE_2 - 1), 0);
    FUNC(masks) masks[KEYS / 8][2];
#define LOAD_MASKS(first) do { \
        _Pragma("unroll") for (int k_ = 0; k_ < KEYS / 8; ++k_) \
            _Pragma("unroll") for (int r_ = 0; r_ < 2; ++r_) { \
                const int at_ = (first) + k_ * 8 + lane % 4 * 2; \
                masks[k_][r_] = FUNC(load_masks)(mask, mask_rows[r_] + at_ * INPUT3_PITCH_3, keys - at_ PASS_ARGS); \
            } \
    } while (0)
    LOAD_MASKS(0);
#endif

    for (int first_key = 0, turn = 0; first_key < keys; first_key += KEYS, turn ^= 1) {
        const uint block = blocks + turn * BLOCK_BYTES;
        COPIES_WAIT(0);
        GROUP_BARRIER();
        if (first_key == 0) {
            #pragma unroll
            for (int e = 0; e < QUERY_STEPS; ++e)
                LOAD_FRAGMENTS(rows[e], queries + CHUNK_AT(warp * 16 + lane % 16, e * 2 + lane / 16, QUERY_WIDTH / 8));
        }
        if (first_key + KEYS < keys) COPY_BLOCK(blocks + (turn ^ 1) * BLOCK_BYTES, first_key + KEYS);
        COPIES_END();
        if (first_row + warp * 16 >= OUTPUT0_SIZE_2) continue;

        const int left = keys - first_key;
#if WITH_MASK
        float2 added[KEYS / 8][2];
        float most = -INFINITY;
        #pragma unroll
        for (int k = 0; k < KEYS / 8; ++k)
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                added[k][r] = ADDED(masks[k][r]);
                most = fmax(most, fmax(added[k][r].x, added[k][r].y));
            }
        LOAD_MASKS(first_key + KEYS);
        #pragma unroll
        for (int other = 1; other < 32; other *= 2) most = fmax(most, OF_LANE(most, other));
        if (most == -INFINITY) continue;
#endif
        float scores[KEYS / 8][4];
        #pragma unroll
        for (int k = 0; k < KEYS / 8; ++k)
            #pragma unroll
            for (int n = 0; n < 4; ++n) scores[k][n] = 0;
        if (left >= KEYS) ADD_SCORES(KEYS);
        else ADD_SCORES(left);

        // What scores are still to be multiplied with; it keeps their order.
        const float factor = WITH_MASK || scale <= 0 ? 1 : scale;
        float tops[2] = {-INFINITY, -INFINITY};
        if (WITH_MASK || IS_CAUSAL || scale <= 0 || left < KEYS) {
            #pragma unroll
            for (int k = 0; k < KEYS / 8; ++k)
                #pragma unroll
                for (int n = 0; n < 4; ++n) {
                    const int row = own_row + n / 2 * 8, at = first_key + k * 8 + lane % 4 * 2 + n % 2;
                    if (factor == 1) scores[k][n] *= scale;
                    if (at >= keys || (IS_CAUSAL && at > row)) scores[k][n] = -INFINITY;
#if WITH_MASK
                    const float mask_of_key = n % 2 ? added[k][n / 2].y : added[k][n / 2].x;
                    if (MASK_IS_BOOLEAN) scores[k][n] = mask_of_key < 0 ? -INFINITY : scores[k][n];
                    else scores[k][n] += LOG2_E * mask_of_key;
#endif
                }
        }
        #pragma unroll
        for (int k = 0; k < KEYS / 8; ++k)
            #pragma unroll
            for (int n = 0; n < 4; ++n) tops[n / 2] = fmax(tops[n / 2], scores[k][n]);
        float bases[2];
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float top = fmax(highest[r], FUNC(four_lanes_max)(tops[r]) * factor);
            bases[r] = top == -INFINITY ? 0 : top;
            const float rescale = QUICK_EXP2(highest[r] - bases[r]);
            highest[r] = top;
            sums[r] *= rescale;
            #pragma unroll
            for (int v = 0; v < VALUE_STEPS * 2; ++v) {
                totals[v][r * 2] *= rescale;
                totals[v][r * 2 + 1] *= rescale;
            }
        }
        #pragma unroll
        for (int k = 0; k < KEYS / 8; ++k)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                scores[k][n] = QUICK_EXP2(scores[k][n] * factor - bases[n / 2]);
                sums[n / 2] += scores[k][n];
            }

        if (left >= KEYS) ADD_VALUES(KEYS);
        else ADD_VALUES(left);
    }

    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int row = own_row + r * 8;
        const float sum = FUNC(four_lanes_sum)(sums[r]), share = sum > 0 ? 1 / sum : 0;
        if (row >= OUTPUT0_SIZE_2) continue;
        #pragma unroll
        for (int v = 0; v < VALUE_STEPS * 2; ++v) {
            const int at = v * 8 + lane % 4 * 2, to = OUTPUT0_GET_INDEX(a, b, row, at);
            const float first = totals[v][r * 2] * share, second = totals[v][r * 2 + 1] * share;
#ifdef OUTPUT0_IS_F16
            if (OUTPUT0_PITCH_3 == 1 && to % 2 == 0 && at + 1 < OUTPUT0_SIZE_3) {
                *(global uint*)(output + to) = PACK_HALVES(first, second);
                continue;
            }
#endif
            if (at < OUTPUT0_SIZE_3) OUTPUT0_STORE(output, to, first);
            if (at + 1 < OUTPUT0_SIZE_3) OUTPUT0_STORE(output, to + OUTPUT0_PITCH_3, second);
        }
    }
}
