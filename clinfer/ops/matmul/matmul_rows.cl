// Matrix product of a few rows, for GPUs; types that compute in f32, any pitches.
// A group of LANES x COLUMNS work-items computes COLUMNS columns of ROWS rows (rows behind the last repeat it). Its
// lanes share the inner axis and add up their sums in local memory. Neighbours read neighbouring elements of the right
// side: lanes where the k of a column lie together (RIGHT_ALONG_K), in chunks of 16, else columns. A chunk of
// compressed weights lies in one group of them.
// Views, all of one rank: left [..., M, K], right [..., K, N], output [..., M, N]; bias [N].
#include "clinfer.cl"

#ifndef LANES
#define LANES 16
#define COLUMNS 16
#define ROWS 1
#define RIGHT_ALONG_K 0
#endif

#include "shared/bias.h"
#include "weights.h"

#define CHUNK 16
#if RIGHT_ALONG_K
#define GROUP_SIZES LANES, COLUMNS, 1
#else
#define GROUP_SIZES COLUMNS, LANES, 1
#endif

// The sum of sixteen products.
INLINED float FUNC(dot16)(const float16 a, const float16 b) {
    const float16 products = a * b;
    const float8 eight = products.lo + products.hi;
    const float4 four = eight.lo + eight.hi;
    return (four.x + four.y) + (four.z + four.w);
}

// Sixteen values of a left row.
INLINED float16 FUNC(load_left)(const global INPUT0_TYPE* left, const index_t from ARGS) {
    if (INPUT0_PITCH_X == 1) return INPUT0_LOAD16(left, from);
    float values[CHUNK];
    for (int i = 0; i < CHUNK; ++i) values[i] = INPUT0_LOAD(left, from + i * INPUT0_PITCH_X);
    return vload16(0, values);
}

__attribute__((reqd_work_group_size(GROUP_SIZES)))
KERNEL(matmul_rows)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                    WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int lane = get_local_id(!RIGHT_ALONG_K), own = get_local_id(RIGHT_ALONG_K);
    const int column = (int)get_group_id(RIGHT_ALONG_K) * COLUMNS + own;
    const int seen_column = min(column, (int)OUTPUT0_SIZE_X - 1);
    const int first_row = (int)(get_group_id(2) % CEIL_DIV(OUTPUT0_SIZE_Y, ROWS)) * ROWS;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)(get_group_id(2) / CEIL_DIV(OUTPUT0_SIZE_Y, ROWS)) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    const index_t from_right = INPUT1_INDEX_OF(at) + seen_column * INPUT1_PITCH_X, from_left = INPUT0_INDEX_OF(at);
    index_t rows[ROWS];
    float sums[ROWS];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        rows[r] = from_left + min(first_row + r, (int)OUTPUT0_SIZE_Y - 1) * INPUT0_PITCH_Y;
        sums[r] = 0;
    }
#if RIGHT_ALONG_K
    const bool in_chunks = INPUT1_PITCH_Y == 1 && !(SHARED_BYTES && INPUT1_PITCH_X % 2);
    const int whole = in_chunks ? (int)INPUT0_SIZE_X / CHUNK * CHUNK : 0;
    for (int k = lane * CHUNK; k < whole; k += LANES * CHUNK) {
#if COMPRESSED
        float16 weights = STORED16(INPUT1_LOAD16(right, from_right + k));
        weights = (weights - ZERO_POINT(GROUP_OF(k), seen_column))
            * SCALE_LOAD(scale, SCALE_GET_INDEX(GROUP_OF(k), seen_column));
#else
        const float16 weights = convert_float16(INPUT1_LOAD16(right, from_right + k));
#endif
        #pragma unroll
        for (int r = 0; r < ROWS; ++r)
            sums[r] += FUNC(dot16)(weights, FUNC(load_left)(left, rows[r] + k * INPUT0_PITCH_X PASS_ARGS));
    }
#else
    const int whole = 0;
#endif
    #pragma unroll 4
    for (int k = whole + lane; k < INPUT0_SIZE_X; k += LANES) {
        const float weight = RIGHT(INPUT1_LOAD(right, from_right + k * INPUT1_PITCH_Y), k, seen_column);
        #pragma unroll
        for (int r = 0; r < ROWS; ++r)
            sums[r] = fma(INPUT0_LOAD(left, rows[r] + k * INPUT0_PITCH_X), weight, sums[r]);
    }
#if LANES > 1
    local float shared[ROWS][LANES][COLUMNS];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) shared[r][lane][own] = sums[r];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int r = lane; r < ROWS; r += LANES) {
        if (first_row + r >= OUTPUT0_SIZE_Y || column >= OUTPUT0_SIZE_X) continue;
#if LANES > 1
        float total = 0;
        for (int part = 0; part < LANES; ++part) total += shared[r][part][own];
#else
        float total = sums[r];
#endif
        at[OUTPUT0_RANK - 2] = first_row + r;
        at[OUTPUT0_RANK - 1] = column;
        ADD_BIAS(total, column);
        FUSED_OPS(total, at)
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), total);
    }
}
