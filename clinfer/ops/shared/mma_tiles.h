// Tiles of matrix products on tensor cores (tensor_cores.h): left [rows, K] by right [K, columns] of f16, float sums.
// A group of WARPS_DOWN x WARPS_ACROSS warps computes a tile of TILE_ROWS x TILE_COLUMNS results, a warp a part of
// PART_ROWS x PART_COLUMNS of them. It goes through K in steps of DEPTH. A step of both sides lies in local memory,
// STAGES steps at a time: while one is multiplied, the next ones are on their way. There a side is rows of chunks of
// 8 halves (CHUNK_AT): the left one TILE_ROWS rows along k, the right one TILE_COLUMNS rows along k (RIGHT_ALONG_K) or
// DEPTH rows along the columns, with WARP_GROUPS those of 64 columns behind those of the next 64.
// With WARP_GROUPS, groups of four warps multiply (warp_groups.h): DEPTH is 64, WARPS_ACROSS is 1, and a warp's part is
// 16 rows.
//   ADD_STEPS(sum, steps, count)   adds the products of all steps; the kernel defines COPY_STEP(to, s), which starts
//                                  the copies of step s to local memory at `to`, the right side LEFT_BYTES behind the
//                                  left, and is used for s = 0, 1, 2, ... in this order
//   STORE_RESULTS(sum, steps, first, rows, columns)   stores them with bias and fused operations; of the tile so many
//                                  rows and columns are there
// The kernel also defines PLACE(at, first, y, x), which finds the coordinates of the result in row y and column x of
// the tile, COLUMN_AXIS, the axis of the output that goes along columns, COLUMN_PITCH, and
// COLUMN_EPILOGUE4(result, at), the fused operations of four consecutive columns.
#define THREADS (32 * WARPS_DOWN * WARPS_ACROSS)
#define PART_ROWS (TILE_ROWS / WARPS_DOWN)
#define PART_COLUMNS (TILE_COLUMNS / WARPS_ACROSS)
#define LEFT_BYTES (TILE_ROWS * DEPTH * 2)
#define STEP_BYTES (LEFT_BYTES + TILE_COLUMNS * DEPTH * 2)
#define STRIP_PITCH (PART_COLUMNS + 4)
#define SIDE_BY_SIDE (PART_COLUMNS / 8 < 4 ? PART_COLUMNS / 8 : 4)
#define CHUNK_ALONG_K(row, chunk) CHUNK_AT(row, chunk, DEPTH / 8)
#if WARP_GROUPS
#define CHUNK_ALONG_COLUMNS(row, chunk) ((chunk) / 8 * DEPTH * 128 + CHUNK_AT(row, (chunk) % 8, 8))
#define BYTES_ALONG_COLUMNS 128
#define STEP_ALIGNMENT 1024
#else
#define CHUNK_ALONG_COLUMNS(row, chunk) CHUNK_AT(row, chunk, TILE_COLUMNS / 8)
#define BYTES_ALONG_COLUMNS (TILE_COLUMNS * 2)
#define STEP_ALIGNMENT 128
#endif
#if STAGES == 2
#define STAGES_BUT_2 0
#elif STAGES == 3
#define STAGES_BUT_2 1
#define STAGES_BUT_3 0
#elif STAGES == 4
#define STAGES_BUT_2 2
#define STAGES_BUT_3 1
#elif STAGES == 5
#define STAGES_BUT_3 2
#elif STAGES == 6
#define STAGES_BUT_3 3
#endif

// A work-item copies the same chunk of every n-th row along k.
#define ROWS_APART(chunks) (THREADS / (chunks))
#define LEFT_COPIES (TILE_ROWS / ROWS_APART(DEPTH / 8))
#define RIGHT_COPIES (TILE_COLUMNS / ROWS_APART(DEPTH / 8))
#define OWN_CHUNK ((int)get_local_id(0) % (DEPTH / 8))
#define OWN_ROW ((int)get_local_id(0) / (DEPTH / 8))

// Where the rows along k of this work-item begin. Rows behind the last are the last again: what comes of them is not
// stored.
INLINED void FUNC(find_rows)(const global half** rows, const int count, const global half* first, const int last,
                             const int pitch) {
    #pragma unroll
    for (int i = 0; i < count; ++i)
        rows[i] = first + (long)min(OWN_ROW + i * ROWS_APART(DEPTH / 8), last) * pitch + OWN_CHUNK * 8;
}

// Starts copying the step at k of `depth` of rows along k, zeros behind the last k.
INLINED void FUNC(copy_rows)(const uint to, const global half* const* rows, const int count, const int k,
                             const int depth, const bool aligned) {
    const int there = clamp(depth - k - OWN_CHUNK * 8, 0, 8);
#define FROM(i) (rows[i] + k)
#define HALVES(i) there
    COPY_CHUNKS(count, to + CHUNK_ALONG_K(OWN_ROW, OWN_CHUNK), THREADS * 16, FROM, HALVES, aligned);
#undef FROM
#undef HALVES
}

// The same of a right side whose rows go along the columns, of which `columns` are there.
INLINED void FUNC(copy_columns)(const uint to, const global half* right, const int columns, const int k,
                                const int depth, const int pitch, const bool aligned) {
    const int row = get_local_id(0) / (TILE_COLUMNS / 8), chunk = get_local_id(0) % (TILE_COLUMNS / 8);
    const int there = clamp(columns - chunk * 8, 0, 8), apart = ROWS_APART(TILE_COLUMNS / 8);
#define FROM(i) (right + (long)(k + row + (i) * apart) * pitch + chunk * 8)
#define HALVES(i) (k + row + (i) * apart < depth ? there : 0)
    COPY_CHUNKS(DEPTH / apart, to + CHUNK_ALONG_COLUMNS(row, chunk), apart * BYTES_ALONG_COLUMNS, FROM, HALVES,
                aligned);
#undef FROM
#undef HALVES
}

// The tile (x: of columns, y: of rows) that a group computes: down the rows of a band of 8 tiles, then the next column,
// so that groups that run at once share what they read.
INLINED int2 FUNC(tile_of)(const int group, const int rows, const int columns) {
    const int down = (rows + TILE_ROWS - 1) / TILE_ROWS, across = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const int first = group / (8 * across) * 8, inside = group % (8 * across), height = min(down - first, 8);
    return (int2)(inside / height, first + inside % height);
}

#if !WARP_GROUPS
INLINED void FUNC(add_step)(float (*sum)[PART_COLUMNS / 8][4], const uint left, const uint right) {
    const int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32;
    const int row = warp / WARPS_ACROSS * PART_ROWS, column = warp % WARPS_ACROSS * PART_COLUMNS;
    #pragma unroll
    for (int k = 0; k < DEPTH; k += 16) {
        uint a[PART_ROWS / 16][4], b[PART_COLUMNS / 16][4];
        #pragma unroll
        for (int i = 0; i < PART_ROWS / 16; ++i)
            LOAD_FRAGMENTS(a[i], left + CHUNK_ALONG_K(row + i * 16 + lane % 16, k / 8 + lane / 16));
        #pragma unroll
        for (int j = 0; j < PART_COLUMNS / 16; ++j) {
#if RIGHT_ALONG_K
            LOAD_FRAGMENTS(b[j], right + CHUNK_ALONG_K(column + j * 16 + lane / 16 * 8 + lane % 8,
                                                       k / 8 + lane / 8 % 2));
#else
            LOAD_TRANSPOSED(b[j], right + CHUNK_ALONG_COLUMNS(k + lane % 16, column / 8 + j * 2 + lane / 16));
#endif
        }
        #pragma unroll
        for (int i = 0; i < PART_ROWS / 16; ++i)
            #pragma unroll
            for (int j = 0; j < PART_COLUMNS / 8; ++j)
                MULTIPLY_ADD(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}
#endif

INLINED void FUNC(clear)(float (*sum)[PART_COLUMNS / 8][4]) {
    #pragma unroll
    for (int i = 0; i < PART_ROWS / 16; ++i)
        #pragma unroll
        for (int j = 0; j < PART_COLUMNS / 8; ++j)
            #pragma unroll
            for (int n = 0; n < 4; ++n) sum[i][j][n] = 0;
}

#if WARP_GROUPS
// The products of a step go on while the next step's copies are waited for: a step's place in local memory is free
// when the products behind it have begun.
#define ADD_STEPS(sum, steps, count) do { \
        const uint left_ = SHARED(steps) + get_local_id(0) / 128 * 64 * DEPTH * 2; \
        FUNC(clear)(sum); \
        _Pragma("unroll") for (int s_ = 0; s_ < STAGES - 2; ++s_) { \
            if (s_ < (count)) COPY_STEP(SHARED(steps) + s_ * STEP_BYTES, s_); \
            COPIES_END(); \
        } \
        for (int s_ = 0, stage_ = 0, next_ = STAGES - 2; s_ < (count); ++s_) { \
            COPIES_WAIT(STAGES_BUT_3); \
            COPIES_SHOWN(); \
            GROUP_BARRIER(); \
            MULTIPLY_STEP((sum)[0], left_ + stage_ * STEP_BYTES, SHARED(steps) + stage_ * STEP_BYTES + LEFT_BYTES); \
            PRODUCTS_BUT_ONE_WAIT(); \
            if (s_ + STAGES - 2 < (count)) COPY_STEP(SHARED(steps) + next_ * STEP_BYTES, s_ + STAGES - 2); \
            COPIES_END(); \
            stage_ = stage_ + 1 == STAGES ? 0 : stage_ + 1; \
            next_ = next_ + 1 == STAGES ? 0 : next_ + 1; \
        } \
        PRODUCTS_WAIT((sum)[0]); \
        COPIES_WAIT(0); \
        GROUP_BARRIER(); \
    } while (0)
#else
#define ADD_STEPS(sum, steps, count) do { \
        FUNC(clear)(sum); \
        _Pragma("unroll") for (int s_ = 0; s_ < STAGES - 1; ++s_) { \
            if (s_ < (count)) COPY_STEP(SHARED(steps) + s_ * STEP_BYTES, s_); \
            COPIES_END(); \
        } \
        for (int s_ = 0, stage_ = 0, next_ = STAGES - 1; s_ < (count); ++s_) { \
            COPIES_WAIT(STAGES_BUT_2); \
            GROUP_BARRIER(); \
            if (s_ + STAGES - 1 < (count)) COPY_STEP(SHARED(steps) + next_ * STEP_BYTES, s_ + STAGES - 1); \
            COPIES_END(); \
            FUNC(add_step)(sum, SHARED(steps) + stage_ * STEP_BYTES, \
                           SHARED(steps) + stage_ * STEP_BYTES + LEFT_BYTES); \
            stage_ = stage_ + 1 == STAGES ? 0 : stage_ + 1; \
            next_ = next_ + 1 == STAGES ? 0 : next_ + 1; \
        } \
        COPIES_WAIT(0); \
        GROUP_BARRIER(); \
    } while (0)
#endif

// 16 rows of a warp's part pass through local memory, so that a lane gets 4 consecutive columns of a row.
INLINED void FUNC(put_strip)(local float* strip, float (*sum)[4]) {
    local float* here = strip + get_local_id(0) % 32 / 4 * STRIP_PITCH + get_local_id(0) % 4 * 2;
    WARP_BARRIER();
    #pragma unroll
    for (int j = 0; j < PART_COLUMNS / 8; ++j) {
        *(local float2*)(here + j * 8) = (float2)(sum[j][0], sum[j][1]);
        *(local float2*)(here + j * 8 + 8 * STRIP_PITCH) = (float2)(sum[j][2], sum[j][3]);
    }
    WARP_BARRIER();
}

// Stores what lies in a warp's strip: 16 rows from row `y` of the tile on, all columns of the warp's part, from column
// `x` on. `first` is for PLACE; `rows` and `columns` are those of the tile that are there. Where all of the strip is
// there, several results are computed side by side, and then stored.
INLINED void FUNC(store_strip)(const local float* strip, const int y, const int x, const int* first, const int rows,
                               const int columns, BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int lane = get_local_id(0) % 32;
    if (y + 16 <= rows && x + PART_COLUMNS <= columns && COLUMN_PITCH == 1) {
        for (int n = 0; n < PART_COLUMNS / 8; n += SIDE_BY_SIDE) {
            float4 fours[SIDE_BY_SIDE];
            int to[SIDE_BY_SIDE];
            #pragma unroll
            for (int i = 0; i < SIDE_BY_SIDE; ++i) {
                const int row = ((n + i) * 32 + lane) / (PART_COLUMNS / 4);
                const int column = ((n + i) * 32 + lane) % (PART_COLUMNS / 4) * 4;
                int at[MAX_RANK];
                PLACE(at, first, y + row, x + column);
                fours[i] = *(const local float4*)(strip + row * STRIP_PITCH + column);
                ADD_BIAS4(fours[i], at[COLUMN_AXIS]);
                COLUMN_EPILOGUE4(fours[i], at)
                to[i] = OUTPUT0_INDEX_OF(at);
            }
            #pragma unroll
            for (int i = 0; i < SIDE_BY_SIDE; ++i) OUTPUT0_STORE4(output, to[i], fours[i]);
        }
        return;
    }
    for (int n = lane; n < 4 * PART_COLUMNS; n += 32) {
        const int row = n / (PART_COLUMNS / 4), column = n % (PART_COLUMNS / 4) * 4;
        const int end = min(columns - x - column, 4);
        if (y + row >= rows) break;
        int at[MAX_RANK];
        for (int j = 0; j < end; ++j) {
            PLACE(at, first, y + row, x + column + j);
            OUTPUT0_COMPUTE result = strip[row * STRIP_PITCH + column + j];
            ADD_BIAS(result, at[COLUMN_AXIS]);
            FUSED_OPS(result, at)
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
        }
    }
}

#define STORE_RESULTS(sum, steps, first, rows, columns) do { \
        const int warp_ = get_local_id(0) / 32; \
        local float* strip_ = (local float*)(steps) + warp_ * 16 * STRIP_PITCH; \
        _Pragma("unroll") for (int i_ = 0; i_ < PART_ROWS / 16; ++i_) { \
            FUNC(put_strip)(strip_, (sum)[i_]); \
            FUNC(store_strip)(strip_, warp_ / WARPS_ACROSS * PART_ROWS + i_ * 16, \
                              warp_ % WARPS_ACROSS * PART_COLUMNS, first, rows, columns, PASS_BIAS output \
                              PASS_ARGS); \
        } \
    } while (0)
