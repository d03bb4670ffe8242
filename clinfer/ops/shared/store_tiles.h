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

// Four halves that lie together, at a multiple of 8 bytes.
#ifdef __NV_CL_C_VERSION
#define GET_FOUR(p) FUNC(get_four)(p)
INLINED float4 FUNC(get_four)(const global half* p) {
    const uint2 packed = *(const global uint2*)p;
    return (float4)(clinfer_unpack_halves(packed.x), clinfer_unpack_halves(packed.y));
}
#define PUT_FOUR(p, v) (*(global uint2*)(p) = (uint2)(PACK_HALVES((v).x, (v).y), PACK_HALVES((v).z, (v).w)))
#define PREFETCH(p) asm volatile("prefetch.global.L2 [%0];" :: "l"((ulong)(p)))
#else
#define GET_FOUR(p) vload_half4(0, p)
#define PUT_FOUR(p, v) vstore_half4_rte(v, 0, p)
#define PREFETCH(p) ((void)(p))
#endif

#if ALL_HALVES
#define WHOLE_FETCH(n, at) (COLUMN_MOVES(n) ? GET_FOUR((const global half*)fused##n + FUSED##n##_INDEX_OF(at)) \
                                            : (float4)(FUSED_FETCH(n, at)))
#define WHOLE_EPILOGUE(result, at) EPILOGUE(float4, result, WHOLE_FETCH, at)
#define WHOLE_STORE(to, v) PUT_FOUR((global half*)output + (to), v)
#define IS_WHOLE(p) ((ulong)(p) % 8 == 0)
#define AND_FUSED_WHOLE_(n, at) \
    && (!COLUMN_MOVES(n) || (IS_WHOLE(fused##n + FUSED##n##_INDEX_OF(at)) && PITCHES_ALLOW(FUSED##n)))
// Whether four consecutive columns of the tile are whole vectors wherever they lie.
#define TILE_IS_WHOLE(at) (COLUMN_PITCH == 1 && IS_WHOLE(output + OUTPUT0_INDEX_OF(at)) && PITCHES_ALLOW(OUTPUT0) \
                           FUSED_EACH(AND_FUSED_WHOLE_, at))
#else
#define WHOLE_EPILOGUE(result, at) COLUMN_EPILOGUE4(result, at)
#define WHOLE_STORE(to, v) OUTPUT0_STORE4(output, to, v)
#define TILE_IS_WHOLE(at) (COLUMN_PITCH == 1)
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
    if (is_whole && y + 16 <= rows && x + STRIP_COLUMNS <= columns) {
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
            WHOLE_EPILOGUE(fours[i], at)
            to[i] = OUTPUT0_INDEX_OF(at);
        }
        #pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) WHOLE_STORE(to[i], fours[i]);
        return;
    }
    for (int n = lane; n < 4 * STRIP_COLUMNS; n += 32) {
        const int row = n / (STRIP_COLUMNS / 4), column = n % (STRIP_COLUMNS / 4) * 4;
        const int end = min(columns - x - column, 4);
        if (y + row >= rows) break;
        for (int j = 0; j < end; ++j) {
            PLACE(at, first, y + row, x + column + j);
            OUTPUT0_COMPUTE result = strip[STRIP_AT(row, column + j)];
            ADD_BIAS(result, at[COLUMN_AXIS]);
            FUSED_OPS(result, at)
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
        }
    }
}

#define STORE_RESULTS(sum, strip, first, rows, columns) do { \
        const int warp_ = ADDING_WARP; \
        local float* strip_ = (strip) + warp_ * STRIP_FLOATS; \
        int at_[MAX_RANK]; \
        PLACE(at_, first, 0, 0); \
        const bool is_whole_ = TILE_IS_WHOLE(at_); \
        _Pragma("unroll") for (int i_ = 0; i_ < PART_ROWS / 16; ++i_) \
            _Pragma("unroll") for (int j_ = 0; j_ < PART_COLUMNS; j_ += STRIP_COLUMNS) { \
                FUNC(put_strip)(strip_, (sum)[i_] + j_ / 8); \
                FUNC(store_strip)(strip_, warp_ / WARPS_ACROSS * PART_ROWS + i_ * 16, \
                                  warp_ % WARPS_ACROSS * PART_COLUMNS + j_, first, rows, columns, is_whole_, \
                                  PASS_BIAS output PASS_ARGS); \
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
