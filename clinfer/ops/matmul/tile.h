// Tiles of TILE_ROWS rows x VECTORS vectors of 16 columns on CPUs, two of which are a panel unless told otherwise: how
// their rows are read and their sums written.
// The left side [.., M, K] passes through a copy of PANEL_DEPTH values of each row; sums leave by way of an array.
#define PANEL_DEPTH 128
#ifndef VECTORS
#define VECTORS 2
#endif
#define TILE_COLUMNS (VECTORS * 16)
#ifndef PANEL_COLUMNS
#define PANEL_COLUMNS 32
#endif

// Copies `count` values of TILE_ROWS rows, starting at element `start` of the first row, as floats; rows behind the
// last repeat it.
void FUNC(fill_rows)(float* rows, const global INPUT0_TYPE* left, const index_t start, const int last_row,
                     const int count ARGS) {
    for (int i = 0; i < TILE_ROWS; ++i) {
        const index_t row = start + min(i, last_row) * INPUT0_PITCH_Y;
        int k = 0;
        if (INPUT0_PITCH_X == 1)
            for (; k + 16 <= count; k += 16) vstore16(INPUT0_LOAD16(left, row + k), 0, rows + i * PANEL_DEPTH + k);
        for (; k < count; ++k) rows[i * PANEL_DEPTH + k] = INPUT0_LOAD(left, row + k * INPUT0_PITCH_X);
    }
}

// Writes those of 16 results from `column` on that the output has, the first one at `to`, with fused operations; `at`
// has the coordinates of the first one, and is changed.
void FUNC(store_some)(const float16 results, index_t* at, const index_t to, const int column,
                      global OUTPUT0_TYPE* output ARGS) {
    float each[16];
    vstore16(results, 0, each);
    for (int n = 0; n < 16 && column + n < OUTPUT0_SIZE_X; ++n) {
        at[OUTPUT0_RANK - 1] = column + n;
        FUSED_OPS(each[n], at)
        OUTPUT0_STORE(output, to + n * OUTPUT0_PITCH_X, each[n]);
    }
    at[OUTPUT0_RANK - 1] = column;
}

// Writes sums [TILE_ROWS][TILE_COLUMNS], in the order of ROW_PART, as the output's rows from `first_row` and columns
// from `first_column` on, with bias and fused operations; `at` has the coordinates of the batch.
void FUNC(store_rows)(const float* totals, index_t* at, const int first_row, const int first_column, BIAS_PARAMETER
                      global OUTPUT0_TYPE* output ARGS) {
    const int rows = min(TILE_ROWS, (int)OUTPUT0_SIZE_Y - first_row);
    for (int j = 0; j < VECTORS; ++j) {
        const int column = at[OUTPUT0_RANK - 1] = first_column + j * 16;
        if (column >= OUTPUT0_SIZE_X) break;
        at[OUTPUT0_RANK - 2] = first_row;
        index_t to = OUTPUT0_INDEX_OF(at);
        for (int i = 0; i < rows; ++i, to += OUTPUT0_PITCH_Y) {
            float16 total = ROW_PART(totals + i * TILE_COLUMNS, j);
            ADD_BIAS16(total, column);
            at[OUTPUT0_RANK - 2] = first_row + i;
            if (OUTPUT0_PITCH_X == 1 && column + 16 <= OUTPUT0_SIZE_X) {
                FUSED_OPS16(total, at, LAST)
                OUTPUT0_STORE16(output, to, total);
            } else {
                FUNC(store_some)(total, at, to, column, output PASS_ARGS);
            }
        }
    }
}
