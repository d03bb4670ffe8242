// Matrix product of a few rows with a right side that is read where it lies, for CPUs.
// One work-item computes COLUMNS columns of one row. Where the k of a column lie together (RIGHT_ALONG_K)
// each column has a float16 of partial sums over k; otherwise a float16 holds the sums of 16 columns.
// Views, all of one rank: left [..., M, K], right [..., K, N], output [..., M, N]; bias [N].
#include "clinfer.cl"

#ifndef RIGHT_ALONG_K
#define RIGHT_ALONG_K 0
#endif

#include "shared/bias.h"

#define COLUMNS 64
#define VECTORS 4

// Sixteen values of the left row.
float16 FUNC(load_left)(const global INPUT0_TYPE* left, const index_t from ARGS) {
    if (INPUT0_PITCH_X == 1) return INPUT0_LOAD16(left, from);
    float values[16];
    for (int i = 0; i < 16; ++i) values[i] = INPUT0_LOAD(left, from + i * INPUT0_PITCH_X);
    return vload16(0, values);
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_vector)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                      BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int column = (int)get_global_id(0) * COLUMNS, last_column = OUTPUT0_SIZE_X - 1 - column;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    const index_t from_right = INPUT1_INDEX_OF(at) + column * INPUT1_PITCH_X;
    at[OUTPUT0_RANK - 2] = get_global_id(1);
    const index_t from_left = INPUT0_INDEX_OF(at);
    at[OUTPUT0_RANK - 1] = column;
    const index_t to = OUTPUT0_INDEX_OF(at);

    float totals[COLUMNS];
    int k = 0;
#if RIGHT_ALONG_K
    for (int part = 0; part <= min(COLUMNS - 1, last_column); part += VECTORS) {
        float16 sum[VECTORS];
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j) sum[j] = 0.0f;
        for (k = 0; k + 16 <= INPUT0_SIZE_X; k += 16) {
            const float16 value = FUNC(load_left)(left, from_left + k * INPUT0_PITCH_X PASS_ARGS);
            #pragma unroll
            for (int j = 0; j < VECTORS; ++j) {
                const index_t own = from_right + min(part + j, last_column) * INPUT1_PITCH_X;
                sum[j] = fma(value, INPUT1_LOAD16(right, own + k * INPUT1_PITCH_Y), sum[j]);
            }
        }
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j) {
            const float8 eight = sum[j].lo + sum[j].hi;
            const float4 four = eight.lo + eight.hi;
            totals[part + j] = four.x + four.y + four.z + four.w;
        }
    }
#else
    float16 sum[VECTORS];
    #pragma unroll
    for (int j = 0; j < VECTORS; ++j) sum[j] = 0.0f;
    if (last_column >= COLUMNS - 1 && INPUT1_PITCH_X == 1)
        for (; k < INPUT0_SIZE_X; ++k) {
            const float16 value = INPUT0_LOAD(left, from_left + k * INPUT0_PITCH_X);
            #pragma unroll
            for (int j = 0; j < VECTORS; ++j)
                sum[j] = fma(value, INPUT1_LOAD16(right, from_right + k * INPUT1_PITCH_Y + j * 16), sum[j]);
        }
    #pragma unroll
    for (int j = 0; j < VECTORS; ++j) vstore16(sum[j], j, totals);
#endif
    const int columns = min(COLUMNS, last_column + 1);
    for (; k < INPUT0_SIZE_X; ++k) {
        const float value = INPUT0_LOAD(left, from_left + k * INPUT0_PITCH_X);
        const index_t row = from_right + k * INPUT1_PITCH_Y;
        for (int n = 0; n < columns; ++n)
            totals[n] = fma(value, INPUT1_LOAD(right, row + n * INPUT1_PITCH_X), totals[n]);
    }
    for (int n = 0; n < columns; ++n) {
        ADD_BIAS(totals[n], column + n);
        at[OUTPUT0_RANK - 1] = column + n;
        FUSED_OPS(totals[n], at)
        OUTPUT0_STORE(output, to + n * OUTPUT0_PITCH_X, totals[n]);
    }
}
