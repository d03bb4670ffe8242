// Storing the results of tiles on tensor cores (mma_tiles.h), with bias and fused operations.
//   STORE_RESULTS(sum, strip, first, rows, columns)   stores the sums of this warp's part of a tile, of which so many
//                                                     rows and columns are there, by its strip of local memory
//   PREFETCH_RESULTS(first, rows, columns)            has all lanes of a warp but the first one ask for what the fused
//                                                     operations of a tile will read, where they read as much
// For that the kernel defines PLACE(at, first, y, x), which finds the coordinates of the result in row y and column x
// of the tile that `first` tells of; COLUMN_AXIS, the axis of the output that goes along columns, COLUMN_PITCH, and
// COLUMN_EPILOGUE4(result, at), the fused operations of four consecutive columns. With ALL_HALVES, results and what
// fused operations read are halves; then it defines COLUMN_MOVES(n), FUSED<n>_MOVES of that axis, and PITCHES_ALLOW(T),
// whether rows of T all begin at multiples of 4 halves if one does, and ROWS_MOVE(n), whether
// they differ.
#ifndef ALL_HALVES
#define ALL_HALVES 0
#endif
#define SIDE_BY_SIDE (STRIP_COLUMNS / 8)

// Two halves that lie together, at a multiple of 4 bytes.
#ifdef __NV_CL_C_VERSION
#define GET_TWO(p) clinfer_unpack_halves(*(const global uint*)(p))
#define PREFETCH(p) asm volatile("prefetch.global.L2 [%0];" :: "l"((ulong)(p)))
#else
#define GET_TWO(p) vload_half2(0, p)
#define PREFETCH(p) ((void)(p))
#endif

#if ALL_HALVES
// Of two rows at[2] two columns each, the same 8 columns further, and so on; (a, b): the same in all columns of a row.
#define TWO_(n, r, j) GET_TWO((const global half*)fused##n + FUSED##n##_INDEX_OF(at[r]) + (j) * 8)
#define FOUR_(n, j) TWO_(n, 0, j), TWO_(n, 1, j)
#if SIDE_BY_SIDE == 2
#define PAIRS 2
#define VALUES float8
#define MOVING_(n) (float8)(FOUR_(n, 0), FOUR_(n, 1))
#define RESTING_(a, b) (float8)(a, a, b, b, a, a, b, b)
#else
#define PAIRS 4
#define VALUES float16
#define MOVING_(n) (float16)(FOUR_(n, 0), FOUR_(n, 1), FOUR_(n, 2), FOUR_(n, 3))
#define RESTING_(a, b) (float16)(a, a, b, b, a, a, b, b, a, a, b, b, a, a, b, b)
#endif
#define VALUES_FETCH(n, at) (COLUMN_MOVES(n) ? MOVING_(n) : RESTING_(FUSED_FETCH(n, at[0]), FUSED_FETCH(n, at[1])))
#define IS_WHOLE(p) ((ulong)(p) % 8 == 0)
#define AND_FUSED_WHOLE_(n, at) \
    && (!COLUMN_MOVES(n) || (IS_WHOLE(fused##n + FUSED##n##_INDEX_OF(at)) && PITCHES_ALLOW(FUSED##n)))
// Whether four consecutive columns of the tile are whole vectors wherever they lie.
#define TILE_IS_WHOLE(at) (COLUMN_PITCH == 1 && IS_WHOLE(output + OUTPUT0_INDEX_OF(at)) && PITCHES_ALLOW(OUTPUT0) \
                           FUSED_EACH(AND_FUSED_WHOLE_, at))
#else
#define TILE_IS_WHOLE(at) (COLUMN_PITCH == 1)
#endif

#if ALL_HALVES
// Stores 16 rows and STRIP_COLUMNS columns of a warp's part, all of which are there and `is_whole`, from row `y` and
// column `x` of the tile on: computed where the sums are, then brought together in local memory, so that a lane
// gets 8 consecutive columns of a row. Blocks of 8 columns are exchanged so that those of consecutive rows lie in
// different banks. `first` is for PLACE.
#define HALVES_AT(row, block) (((row) * SIDE_BY_SIDE + ((block) ^ ((row) % SIDE_BY_SIDE))) * 16)
INLINED void FUNC(store_whole)(local uchar* strip, float (*sum)[4], const int y, const int x, const int* first,
                               BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int lane = get_local_id(0) % 32, row = lane / 4, column = lane % 4 * 2;
    int at[2][MAX_RANK];
    uint packed[SIDE_BY_SIDE][2];
    #pragma unroll
    for (int r = 0; r < 2; ++r) PLACE(at[r], first, y + r * 8 + row, x + column);
    #pragma unroll
    for (int j = 0; j < SIDE_BY_SIDE; j += PAIRS) {
        // One vector, so that the operations of its elements do not wait for one another.
        union {
            float each[PAIRS][4];
            VALUES all;
        } values;
        #pragma unroll
        for (int n = 0; n < PAIRS; ++n) {
            float2 shift = 0;
            ADD_BIAS(shift.x, at[0][COLUMN_AXIS] + n * 8);
            ADD_BIAS(shift.y, at[0][COLUMN_AXIS] + n * 8 + 1);
            #pragma unroll
            for (int i = 0; i < 4; ++i) values.each[n][i] = sum[j + n][i] + (i % 2 ? shift.y : shift.x);
        }
        EPILOGUE(VALUES, values.all, VALUES_FETCH, at)
        #pragma unroll
        for (int n = 0; n < PAIRS; ++n)
            #pragma unroll
            for (int r = 0; r < 2; ++r)
                packed[j + n][r] = PACK_HALVES(values.each[n][r * 2], values.each[n][r * 2 + 1]);
        #pragma unroll
        for (int r = 0; r < 2; ++r) at[r][COLUMN_AXIS] += PAIRS * 8;
    }
    WARP_BARRIER();
    #pragma unroll
    for (int j = 0; j < SIDE_BY_SIDE; ++j)
        #pragma unroll
        for (int r = 0; r < 2; ++r) *(local uint*)(strip + HALVES_AT(r * 8 + row, j) + column * 2) = packed[j][r];
    WARP_BARRIER();
    #pragma unroll
    for (int i = 0; i < SIDE_BY_SIDE / 2; ++i) {
        const int n = i * 32 + lane, own_row = n / SIDE_BY_SIDE, block = n % SIDE_BY_SIDE;
        PLACE(at[0], first, y + own_row, x + block * 8);
        global OUTPUT0_TYPE* to = output + OUTPUT0_INDEX_OF(at[0]);
        const uint4 halves = *(const local uint4*)(strip + HALVES_AT(own_row, block));
        if ((ulong)to % 16 == 0) {
            *(global uint4*)to = halves;
        } else {
            ((global uint2*)to)[0] = halves.lo;
            ((global uint2*)to)[1] = halves.hi;
        }
    }
}
#endif

// 16 rows and STRIP_COLUMNS columns of a warp's part pass through local memory, so that a lane gets 4 consecutive
// columns of a row. Blocks of 8 columns are exchanged so that those of consecutive rows lie in different banks.
#define STRIP_AT(row, column) \
    ((row) * STRIP_COLUMNS + (((column) / 8) ^ ((row) % (STRIP_COLUMNS / 8))) * 8 + (column) % 8)
INLINED void FUNC(put_strip)(local float* strip, float (*sum)[4]) {
    const int row = get_local_id(0) % 32 / 4, column = get_local_id(0) % 4 * 2;
    WARP_BARRIER();
    #pragma unroll
    for (int j = 0; j < STRIP_COLUMNS; j += 8) {
        *(local float2*)(strip + STRIP_AT(row, j + column)) = (float2)(sum[j / 8][0], sum[j / 8][1]);
        *(local float2*)(strip + STRIP_AT(row + 8, j + column)) = (float2)(sum[j / 8][2], sum[j / 8][3]);
    }
    WARP_BARRIER();
}

// Stores what lies in a warp's strip, from row `y` and column `x` of the tile on. `first` is for PLACE; `rows` and
// `columns` are those of the tile that are there. Where all of the strip is there and `is_whole`, the results of a lane
// are computed side by side, and then stored.
INLINED void FUNC(store_strip)(const local float* strip, const int y, const int x, const int* first, const int rows,
                               const int columns, const bool is_whole,
                               BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int lane = get_local_id(0) % 32;
    int at[MAX_RANK];
#if !ALL_HALVES
    if (is_whole) {
        const int own_row = lane / (STRIP_COLUMNS / 4), column = lane % (STRIP_COLUMNS / 4) * 4;
        float4 shift = 0, fours[SIDE_BY_SIDE];
        index_t to[SIDE_BY_SIDE];
        PLACE(at, first, y, x + column);
        ADD_BIAS4(shift, at[COLUMN_AXIS]);
        #pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            const int row = i * (128 / STRIP_COLUMNS) + own_row;
            PLACE(at, first, y + row, x + column);
            fours[i] = *(const local float4*)(strip + STRIP_AT(row, column)) + shift;
            COLUMN_EPILOGUE4(fours[i], at)
            to[i] = OUTPUT0_INDEX_OF(at);
        }
        #pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) OUTPUT0_STORE4(output, to[i], fours[i]);
        return;
    }
#endif
    // Rolled up, since few groups get here, and what is fetched of a kernel takes its time.
    #pragma unroll 1
    for (int n = lane; n < 4 * STRIP_COLUMNS; n += 32) {
        const int row = n / (STRIP_COLUMNS / 4), column = n % (STRIP_COLUMNS / 4) * 4;
        const int end = min(columns - x - column, 4);
        if (y + row >= rows) break;
        #pragma unroll 1
        for (int j = 0; j < end; ++j) {
            PLACE(at, first, y + row, x + column + j);
            OUTPUT0_COMPUTE result = strip[STRIP_AT(row, column + j)];
            ADD_BIAS(result, at[COLUMN_AXIS]);
            FUSED_OPS(result, at)
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
        }
    }
}

#if ALL_HALVES
#define STORE_WHOLE(strip, sum, y, x, first, is_whole) \
    if (is_whole) { \
        FUNC(store_whole)((local uchar*)(strip), sum, y, x, first, PASS_BIAS output PASS_ARGS); \
        continue; \
    }
#else
#define STORE_WHOLE(strip, sum, y, x, first, is_whole)
#endif
#define STORE_RESULTS(sum, strip, first, rows, columns) do { \
        const int warp_ = TEAM_WARP; \
        local float* strip_ = (strip) + ADDING_WARP * STRIP_FLOATS; \
        int at_[MAX_RANK]; \
        PLACE(at_, first, 0, 0); \
        const bool is_whole_ = TILE_IS_WHOLE(at_); \
        _Pragma("unroll") for (int i_ = 0; i_ < PART_ROWS / 16; ++i_) \
            _Pragma("unroll") for (int j_ = 0; j_ < PART_COLUMNS; j_ += STRIP_COLUMNS) { \
                const int y_ = BLOCK_ROW(warp_, i_), x_ = warp_ % WARPS_ACROSS * PART_COLUMNS + j_; \
                const bool all_ = is_whole_ && y_ + 16 <= (rows) && x_ + STRIP_COLUMNS <= (columns); \
                STORE_WHOLE(strip_, (sum)[i_] + j_ / 8, y_, x_, first, all_) \
                FUNC(put_strip)(strip_, (sum)[i_] + j_ / 8); \
                FUNC(store_strip)(strip_, y_, x_, first, rows, columns, all_, PASS_BIAS output PASS_ARGS); \
            } \
    } while (0)

#if ALL_HALVES
#define PREFETCH_FUSED_(n, at) if (COLUMN_MOVES(n) && ROWS_MOVE(n)) PREFETCH(fused##n + FUSED##n##_INDEX_OF(at));
#define PREFETCH_RESULTS(first, rows, columns) do { \
        for (int y_ = (int)get_local_id(0) % 32 - 1; y_ < min(TILE_ROWS, (rows)); y_ += 31) \
            for (int x_ = 0; x_ < min(TILE_COLUMNS, (columns)); x_ += 64) { \
                int at_[MAX_RANK]; \
                PLACE(at_, first, y_, x_); \
                FUSED_EACH(PREFETCH_FUSED_, at_) \
            } \
    } while (0)
#else
#define PREFETCH_RESULTS(first, rows, columns)
#endif
