// Matrix product of bf16 with sums in float by products of pairs (bf16_tiles.h), for x86 CPUs.
// One work-item computes TILE_ROWS rows x 32 columns. Rows are read where they lie; those of a tile that is not full,
// or whose values do not lie together or do not fill the last step, pass through `rows`, with zeros behind the last.
// Views, all of one rank: left [..., M, K], output [..., M, N], packed right side [..., N / 16, steps * 256]: for each
// step of 16 k, 8 pairs x 16 columns x 2, zeros behind the last k and column; bias [N] in blocks of 16.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#endif

#include "shared/bias.h"
#include "shared/bf16_tiles.h"
#include "weights.h"
#include "tile.h"

#define ROWS_DEPTH 256

// Copies `count` values of TILE_ROWS rows from element `start` of the first one on, and fills up the last step with
// zeros; rows behind the last repeat it.
void FUNC(copy_rows)(ushort* rows, const global ushort* left, const index_t start, const int last_row,
                     const int count ARGS) {
    for (int i = 0; i < TILE_ROWS; ++i) {
        const index_t row = start + min(i, last_row) * INPUT0_PITCH_Y;
        int k = 0;
        if (INPUT0_PITCH_X == 1)
            for (; k + 16 <= count; k += 16) vstore16(vload16(0, left + row + k), 0, rows + i * ROWS_DEPTH + k);
        for (; k < count; ++k) rows[i * ROWS_DEPTH + k] = left[row + k * INPUT0_PITCH_X];
        for (; k % STEP_DEPTH; ++k) rows[i * ROWS_DEPTH + k] = 0;
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_bf16)(const global ushort* restrict left, const global ushort* restrict right,
                    BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * TILE_ROWS, panel = get_global_id(1), depth = INPUT0_SIZE_X;
    const int last_row = OUTPUT0_SIZE_Y - 1 - first_row;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    at[OUTPUT0_RANK - 2] = panel * 2;
    const global ushort* from = right + INPUT1_INDEX_OF(at);
    at[OUTPUT0_RANK - 2] = first_row;
    const index_t start = INPUT0_INDEX_OF(at);

    ulong frame[FRAME_WORDS], place = 0;
    #pragma unroll
    for (int i = 0; i < TILE_ROWS * VECTORS; ++i) vstore16((float16)0.0f, i, frame_sums(frame));
    frame[RIGHT_AT] = (ulong)from;
    frame[OTHER_BYTES] = panel * PANEL_COLUMNS + 16 < OUTPUT0_SIZE_X ? INPUT1_PITCH_Y * sizeof(ushort) : 0;
    frame[STEP_BYTES] = STEP_DEPTH * sizeof(ushort);
    frame[TAPS_AT] = (ulong)&place;
    frame[TAPS_END] = (ulong)(&place + 1);
    if (INPUT0_PITCH_X == 1 && last_row >= TILE_ROWS - 1 && depth % STEP_DEPTH == 0) {
        frame[LEFT_AT] = (ulong)(left + start);
        frame[ROW_BYTES] = INPUT0_PITCH_Y * sizeof(ushort);
        frame[STEP_COUNT] = depth / STEP_DEPTH;
        if (depth) ADD_PRODUCTS(frame);
    } else {
        ushort rows[TILE_ROWS * ROWS_DEPTH];
        frame[ROW_BYTES] = ROWS_DEPTH * sizeof(ushort);
        for (int k = 0; k < depth; k += ROWS_DEPTH) {
            const int count = min(ROWS_DEPTH, depth - k);
            FUNC(copy_rows)(rows, left, start + k * INPUT0_PITCH_X, last_row, count PASS_ARGS);
            frame[LEFT_AT] = (ulong)rows;
            frame[RIGHT_AT] = (ulong)(from + k * 16);
            frame[STEP_COUNT] = (count + STEP_DEPTH - 1) / STEP_DEPTH;
            ADD_PRODUCTS(frame);
        }
    }
    FUNC(store_rows)(frame_sums(frame), at, first_row, panel, PASS_BIAS output PASS_ARGS);
}
