// Rows of the left side [.., M, K] as tiles (float_products.h) multiply them: where they lie, unless a tile of wide
// vectors, but not of AMX's registers, is not full, or its values do not lie together or do not fill the last step or
// half of it. Such rows pass through a copy of ROWS_DEPTH values of each.
// Few last rows are a smaller tile, because a tile takes as long for one row as for all that it has: of 4 or 8 rows
// beside tiles of more in wide vectors.
#define ROWS_DEPTH 256
// Values of the packed right side from one k to the next.
#define K_VALUES (PANELS_JOINED ? 32 : 16)

// ROWS_OF_TILE(rows): how many rows the smallest tile has that has room for so many; ADD_PRODUCTS_OF(frame, rows):
// ADD_PRODUCTS of a tile that has so many.
#if VECTOR_FLOATS == 16 && TILE_ROWS > 8 && TILE_ROWS <= 14
INLINED void FUNC(add_to_all)(ulong* frame) { ADD_PRODUCTS(frame); }
#undef PRODUCT_ROWS
#define PRODUCT_ROWS 8
INLINED void FUNC(add_to_8)(ulong* frame) { ADD_PRODUCTS(frame); }
#undef PRODUCT_ROWS
#define PRODUCT_ROWS 4
INLINED void FUNC(add_to_4)(ulong* frame) { ADD_PRODUCTS(frame); }
#undef PRODUCT_ROWS
#define PRODUCT_ROWS TILE_ROWS

#define ROWS_OF_TILE(rows) ((rows) <= 4 ? 4 : (rows) <= 8 ? 8 : TILE_ROWS)
#define ADD_PRODUCTS_OF(frame, rows) \
    ((rows) == 4 ? FUNC(add_to_4)(frame) : (rows) == 8 ? FUNC(add_to_8)(frame) : FUNC(add_to_all)(frame))
#else
#define ROWS_OF_TILE(rows) TILE_ROWS
#define ADD_PRODUCTS_OF(frame, rows) ADD_PRODUCTS(frame)
#endif

#if TILE_ROWS > 14
#define NEEDS_FULL_TILES 0
#define HOLD_ROWS(frame, last_row) ((frame)[ROWS_HELD] = min((int)(last_row) + 1, TILE_ROWS))
#else
#define NEEDS_FULL_TILES (VECTOR_FLOATS != 8)
#define HOLD_ROWS(frame, last_row)
#endif

// Copies `count` values of TILE_ROWS rows from element `start` of the first one on, and fills up the last step with
// zeros; rows behind the last repeat it.
void FUNC(copy_rows)(TILE_VALUE* rows, const global TILE_VALUE* left, const index_t start, const int last_row,
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

// Whether all rows of a tile and all their values can be multiplied where they lie.
#define IS_IN_PLACE(last_row, depth) \
    (INPUT0_PITCH_X == 1 && (!NEEDS_FULL_TILES || (last_row) >= ROWS_OF_TILE((last_row) + 1) - 1) && \
     (depth) % (STEPS_HALVE ? STEP_DEPTH / 2 : STEP_DEPTH) == 0)

// Adds the products of `depth` values, filled up to whole steps, of rows at the address `left`, `row_bytes` from each
// other, with packed columns at the address `right`; OTHER_BYTES, what is asked for, FIRST_BEGINS (then 0) and the sums
// of the frame are set before.
void FUNC(add_steps)(ulong* frame, const ulong left, const ulong row_bytes, const int last_row, const int depth,
                     const ulong right) {
    ulong taps[TAP_NUMBERS];
    frame[HALF_AT] = STEPS_HALVE && depth % STEP_DEPTH > 0 && depth % STEP_DEPTH <= STEP_DEPTH / 2;
    frame[STEP_BYTES] = STEP_DEPTH * sizeof(TILE_VALUE);
    READ_ONCE(frame, taps, row_bytes, last_row);
    HOLD_ROWS(frame, last_row);
    frame[LEFT_AT] = left;
    frame[RIGHT_AT] = right;
    frame[STEP_COUNT] = (depth + STEP_DEPTH - 1) / STEP_DEPTH;
    if (depth) ADD_PRODUCTS_OF(frame, ROWS_OF_TILE(last_row + 1));
    frame[FIRST_BEGINS] = 0;
}

// The same of rows from element `start` of the first one on.
void FUNC(add_rows)(ulong* frame, const global TILE_VALUE* left, const index_t start, const int last_row,
                    const int depth, const ulong right ARGS) {
    if (IS_IN_PLACE(last_row, depth)) {
        FUNC(add_steps)(frame, (ulong)(left + start), INPUT0_PITCH_Y * sizeof(TILE_VALUE), last_row, depth, right);
    } else {
        TILE_VALUE rows[TILE_ROWS * ROWS_DEPTH];
        for (int k = 0; k < depth; k += ROWS_DEPTH) {
            const int count = min(ROWS_DEPTH, depth - k);
            FUNC(copy_rows)(rows, left, start + k * INPUT0_PITCH_X, last_row, count PASS_ARGS);
            FUNC(add_steps)(frame, (ulong)rows, ROWS_DEPTH * sizeof(TILE_VALUE), last_row, count,
                            right + k * K_VALUES * sizeof(TILE_VALUE));
        }
    }
}
