// Matrix product of bf16 or, with TILES_OF_FLOATS, of floats (float_products.h), for x86 CPUs.
// One work-item computes ARG_TILES tiles of TILE_ROWS rows, each with a run of tiles of 32 columns, with VECTOR_FLOATS
// 8 of 16 (float_rows.h, tile_runs.h). Drivers take the work-items of one dimension in turn: where one has all rows,
// the columns that come next are known, and each of its tiles asks for a share of them.
// Rows that cannot be multiplied where they lie are copied once for all of them, if they have at most ROWS_DEPTH
// values. In place of rows behind the last one, a tile of wide vectors has some of the tile before, which are not
// stored.
// Views, all of one rank: left [..., M, K], output [..., M, N], packed right side [..., N / 16, steps * 256]: for each
// step of 16 k, 8 pairs x 16 columns x 2, zeros behind the last k and column; of floats [..., N / 32, K * 32], as
// matmul_tile has it, K a multiple of 8; bias [N] in blocks of 16.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define VECTOR_FLOATS 16
#define ARG_TILES 1
#endif
#define VECTORS (VECTOR_FLOATS / 8)
#define ASKS_FOR_MORE 1

#include "shared/bias.h"
#include "shared/fetching.h"
#include "shared/float_products.h"
#include "shared/tile_runs.h"
#include "weights.h"
#include "tile.h"
#include "float_rows.h"

INLINED void FUNC(fetch_for_stores)(const global OUTPUT0_TYPE* to, const int rows ARGS) {
    for (int i = 0; i < rows; ++i, to += OUTPUT0_PITCH_Y)
        for (int column = 0; column < TILE_COLUMNS; column += LINE_BYTES / sizeof(*to)) FETCH_FOR_STORES(to + column);
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_floats)(const global TILE_VALUE* restrict left, const global TILE_VALUE* restrict right,
                    BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int depth = INPUT0_SIZE_X, first_tile = (int)get_global_id(0) * ARG_TILES;
    const int tiles = min((int)ARG_TILES, CEIL_DIV((int)OUTPUT0_SIZE_Y, TILE_ROWS) - first_tile);
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    const ulong panels = (ulong)(right + INPUT1_INDEX_OF(at));
    const uint shares = LATER_SHARES(tiles);
    const ulong line_steps = (ulong)depth / STEP_DEPTH * LINE_BYTES;
    TILE_VALUE rows[TILE_ROWS * ROWS_DEPTH];
    FRAME(frame);
    frame[MORE_LATER] = LINES_OF_SHARE(shares) - LATER_BYTES / LINE_BYTES;
    for (int i = 0; i < tiles; ++i) {
        const int first_row = (first_tile + i) * TILE_ROWS, own = OUTPUT0_SIZE_Y - first_row;
        const int held = ROWS_OF_TILE(own);
        const int skipped = VECTOR_FLOATS == 16 && OUTPUT0_SIZE_Y >= held ? max(held - own, 0) : 0;
        const int last_row = own - 1 + skipped;
        at[OUTPUT0_RANK - 2] = first_row - skipped, at[OUTPUT0_RANK - 1] = 0;
        const index_t start = INPUT0_INDEX_OF(at);
        const bool is_copied = !IS_IN_PLACE(last_row, depth) && depth <= ROWS_DEPTH;
        if (is_copied) FUNC(copy_rows)(rows, left, start, last_row, depth PASS_ARGS);
        EACH_TILE_OF_RUN(1, tile, CEIL_DIV(OUTPUT0_SIZE_X, TILE_COLUMNS)) {
            const index_t column = tile * TILE_COLUMNS;
            at[OUTPUT0_RANK - 2] = first_row, at[OUTPUT0_RANK - 1] = column;
            FUNC(fetch_for_stores)(output + OUTPUT0_INDEX_OF(at), min(TILE_ROWS, own) PASS_ARGS);
            at[OUTPUT0_RANK - 2] = column / (PANELS_JOINED ? PANEL_COLUMNS : 16);
            at[OUTPUT0_RANK - 1] = PANELS_JOINED ? column % PANEL_COLUMNS : 0;
            const ulong columns = (ulong)(right + INPUT1_INDEX_OF(at));
            for (int n = 0; n < (depth ? 1 : TILE_ROWS) * VECTORS; ++n) vstore16((float16)0.0f, n, frame_sums(frame));
            frame[FIRST_BEGINS] = 1;
            const index_t other = PANELS_JOINED ? VECTOR_FLOATS : column + 16 < OUTPUT0_SIZE_X ? INPUT1_PITCH_Y : 0;
            frame[OTHER_BYTES] = other * sizeof(TILE_VALUE);
            const index_t later = (tile + ARG_RUN) * STEP_LINES + i % shares * LINES_OF_SHARE(shares);
            frame[LATER_AT] = panels + later * line_steps;
            if (is_copied)
                FUNC(add_steps)(frame, (ulong)rows, ROWS_DEPTH * sizeof(TILE_VALUE), last_row, depth, columns);
            else
                FUNC(add_rows)(frame, left, start, last_row, depth, columns PASS_ARGS);
            FUNC(store_rows)(frame_sums(frame) + skipped * TILE_COLUMNS, at, first_row, column,
                             PASS_BIAS output PASS_ARGS);
        }
    }
    END_TILES();
}
