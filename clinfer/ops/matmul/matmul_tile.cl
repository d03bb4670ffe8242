// Matrix product from a packed right side, for CPUs.
// One work-item computes TILE_ROWS rows x a panel of 32 columns, or half of one, held in float16 registers. It goes
// through K in steps of PANEL_DEPTH: the rows of the left side are copied into `rows` as floats (rows behind the last
// repeat it), then multiplied; IN_PLACE they are floats along k and multiplied where they lie. Products of SPLIT
// consecutive k are summed apart, so that tiles of few rows do not wait for their own sums.
// Views, all of one rank: left [..., M, K], output [..., M, N], packed right side [..., panels, K * 32] with
// the 32 columns of a panel together for each k (zeros behind the last column); bias [N] in blocks of 16.
// Scales and zero points of compressed weights are packed like the right side, with groups in place of k. Few rows
// are multiplied by the stored numbers, and each group's sums by its scales (BY_GROUPS); where half of a tile has rows,
// only half of it is computed.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define SPLIT 1
#define IN_PLACE 0
#define BY_GROUPS 0
#endif

#include "shared/bias.h"
#include "weights.h"
#include "tile.h"
#include "shared/fetching.h"

#define BYTES_OF(elements) ((elements) * sizeof(INPUT1_TYPE) / (SHARED_BYTES ? 2 : 1))
// Asks for `count` k of a panel that are multiplied some steps after those at index `place`; few rows wait for memory,
// so that they ask twice.
#define NEAR_BYTES 3072
#define FAR_BYTES (COMPRESSED ? 8192 : 32768)
#define MOST_ROWS_TWICE (COMPRESSED ? 1 : 8)
#define FETCH_PANEL(place, count) \
    do { \
        const global uchar* here = (const global uchar*)right + BYTES_OF(place); \
        _Pragma("unroll") \
        for (int b = 0; b < (int)BYTES_OF((count) * TILE_COLUMNS); b += LINE_BYTES) { \
            FETCH_LINE(here + NEAR_BYTES + b); \
            if (TILE_ROWS <= MOST_ROWS_TWICE) FETCH_FAR_LINE(here + FAR_BYTES + b); \
        } \
    } while (0)

#if IN_PLACE
#define ROW(i) rows[i]
#else
#define ROW(i) (rows + (i) * PANEL_DEPTH)
#endif
#define MULTIPLY(k, sums) \
    do { \
        float16 column[VECTORS]; \
        FETCH_PANEL(from + (k) * PANEL_COLUMNS, 1); \
        LOAD_COLUMNS(column, from + (k) * PANEL_COLUMNS); \
        _Pragma("unroll") \
        for (int i = 0; i < TILE_ROWS; ++i) { \
            const float16 value = ROW(i)[k]; \
            _Pragma("unroll") \
            for (int j = 0; j < VECTORS; ++j) (sums)[i][j] = fma(value, column[j], (sums)[i][j]); \
        } \
    } while (0)

#if COMPRESSED && BY_GROUPS
// The sum of a row's values from `k` to `end`.
INLINED float FUNC(sum_of)(const float* row, int k, const int end) {
    float16 sums = 0;
    float sum = 0;
    for (; k + 16 <= end; k += 16) sums += vload16(0, row + k);
    for (; k < end; ++k) sum += row[k];
    const float8 eight = sums.lo + sums.hi;
    const float4 four = eight.lo + eight.hi;
    return sum + four.x + four.y + four.z + four.w;
}

#define ADD_PRODUCTS(k, sums) \
    do { \
        float16 stored[VECTORS]; \
        LOAD_STORED(stored, from + (k) * PANEL_COLUMNS); \
        _Pragma("unroll") \
        for (int i = 0; i < count; ++i) { \
            const float16 value = ROW(i)[k]; \
            (sums)[i][0] = fma(value, stored[0], (sums)[i][0]); \
            (sums)[i][1] = fma(value, stored[1], (sums)[i][1]); \
        } \
    } while (0)

// Adds the products of the first `count` rows and the k from `k` to `end`, which lie in one group, to the totals;
// `count` is known when this is compiled.
INLINED void FUNC(add_group)(float16 totals[TILE_ROWS][VECTORS], const float* rows, const int count,
                             const global INPUT1_TYPE* right, const index_t from, int k, const int end,
                             const float16* scales, const float16* shifts) {
    float16 sums[SPLIT][TILE_ROWS][VECTORS];
    float values[TILE_ROWS];
    #pragma unroll
    for (int i = 0; i < count; ++i) {
        values[i] = FUNC(sum_of)(ROW(i), k, end);
        #pragma unroll
        for (int s = 0; s < SPLIT; ++s) sums[s][i][0] = sums[s][i][1] = 0;
    }
    for (; k + SPLIT <= end; k += SPLIT) {
        FETCH_PANEL(from + k * PANEL_COLUMNS, SPLIT);
        #pragma unroll
        for (int s = 0; s < SPLIT; ++s) ADD_PRODUCTS(k + s, sums[s]);
    }
    for (; k < end; ++k) ADD_PRODUCTS(k, sums[0]);
    #pragma unroll
    for (int i = 0; i < count; ++i) {
        #pragma unroll
        for (int s = 1; s < SPLIT; ++s) {
            sums[0][i][0] += sums[s][i][0];
            sums[0][i][1] += sums[s][i][1];
        }
        FINISH_GROUP(totals[i], sums[0][i], values[i]);
    }
}
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_tile)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                    WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * TILE_ROWS, first_column = (int)get_global_id(1) * TILE_COLUMNS;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    at[OUTPUT0_RANK - 2] = first_column / PANEL_COLUMNS;
    index_t from = INPUT1_INDEX_OF(at) + first_column % PANEL_COLUMNS;
    at[OUTPUT0_RANK - 2] = first_row;
    const index_t start = INPUT0_INDEX_OF(at);

    float16 sum[SPLIT][TILE_ROWS][VECTORS];
    #pragma unroll
    for (int s = 0; s < SPLIT; ++s)
        #pragma unroll
        for (int i = 0; i < TILE_ROWS; ++i)
            #pragma unroll
            for (int j = 0; j < VECTORS; ++j) sum[s][i][j] = 0.0f;

#if IN_PLACE
    const global float* rows[TILE_ROWS];
    #pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i)
        rows[i] = left + start + min(i, (int)OUTPUT0_SIZE_Y - 1 - first_row) * INPUT0_PITCH_Y;
#else
    float rows[TILE_ROWS * PANEL_DEPTH];
#endif
    for (int base = 0; base < INPUT0_SIZE_X; base += PANEL_DEPTH) {
        const int count = min(PANEL_DEPTH, (int)INPUT0_SIZE_X - base);
#if !IN_PLACE
        FUNC(fill_rows)(rows, left, start + base * INPUT0_PITCH_X, OUTPUT0_SIZE_Y - 1 - first_row, count PASS_ARGS);
#endif
        for (int k = 0; k < count;) {
            const int end = min(count, GROUP_END(base + k) - base);
            START_GROUP(base + k, first_column)
#if COMPRESSED && BY_GROUPS
            if (OUTPUT0_SIZE_Y - first_row > TILE_ROWS / 2)
                FUNC(add_group)(sum[0], rows, TILE_ROWS, right, from, k, end, scales, shifts);
            else
                FUNC(add_group)(sum[0], rows, TILE_ROWS / 2, right, from, k, end, scales, shifts);
            k = end;
#else
            for (; k + SPLIT <= end; k += SPLIT) {
                #pragma unroll
                for (int s = 0; s < SPLIT; ++s) MULTIPLY(k + s, sum[s]);
            }
            for (; k < end; ++k) MULTIPLY(k, sum[0]);
#endif
        }
        from += PANEL_DEPTH * PANEL_COLUMNS;
#if IN_PLACE
        #pragma unroll
        for (int i = 0; i < TILE_ROWS; ++i) rows[i] += PANEL_DEPTH;
#endif
    }

    float totals[TILE_ROWS * TILE_COLUMNS];
    #pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i)
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j) {
            #pragma unroll
            for (int s = 1; s < SPLIT; ++s) sum[0][i][j] += sum[s][i][j];
            vstore16(sum[0][i][j], i * VECTORS + j, totals);
        }
    FUNC(store_rows)(totals, at, first_row, first_column, PASS_BIAS output PASS_ARGS);
}
