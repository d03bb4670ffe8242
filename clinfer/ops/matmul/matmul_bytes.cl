// Matrix product of whole numbers of 8 bits, for CPUs.
// One work-item computes ARG_TILES tiles of TILE_ROWS rows x ARG_PANELS panels of PANEL_COLUMNS columns. Tiles read
// rows of bytes where they lie, if the products can: those that lie IN_PLACE take turns with each panel, so that what
// they multiply it by comes from afar once. Else there is one tile of MOST_PANELS panels at most, which goes through K
// in steps of DEPTH: the rows of the left side, multiples of a step, become whole numbers (number / step + zero point),
// as the products read them; rows behind the last repeat it. Products with the weights are added up exactly, and the
// sum is scaled at the end.
// Views, all of one rank: left [..., M, K], output [..., M, N]; weights [panels, K / STEP_VALUES, PANEL_COLUMNS,
// STEP_VALUES], with zeros behind K up to a multiple of BLOCK_VALUES; what the sums start with (-zero point * sum of
// the column's weights) [1, N] and scales [1, N] in panels of 32, bias [N] in blocks of 16; grid [1, 3]: 1 / step, zero
// point, step.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define MOST_PANELS 4
#define IN_PLACE 0
#define ARG_PANELS 1
#define ARG_TILES 1
#define COMPRESSED 0
#define HAS_ZERO_POINT 0
#define GROUP_SIZE 0
#define SHARED_BYTES 0
#define LOWEST 0
#define SCALE16(k, column) ((float16)1.0f)
#define BLOCK_VALUES 4
#endif

#include "shared/bias.h"
#include "shared/byte_products.h"
#define VECTORS (PANEL_COLUMNS / 16)
#include "weights.h"
#include "tile.h"

#define DEPTH 1024
#ifdef INPUT0_IS_Q8
#define BYTE(p, i) ((p)[i])
#define BYTES16(p, i) vload16(0, (p) + (i))
#else
#define BYTE(p, i) convert_uchar_sat_rte(fma(INPUT0_LOAD(p, i), factor, zero))
#define BYTES16(p, i) clinfer_to_bytes16(fma(INPUT0_LOAD16(p, i), factor, zero))
#endif
#define GRID(n) INPUT3_LOAD(grid, INPUT3_OFFSET + (n))

// Copies `count` values of TILE_ROWS rows, starting at element `start` of the first row, as whole numbers; zeros
// fill up the last four.
void FUNC(fill_bytes)(HELD* rows, const global INPUT0_TYPE* left, const index_t start, const int last_row,
                      const int count, const float factor, const float zero ARGS) {
    for (int i = 0; i < TILE_ROWS; ++i) {
        const index_t row = start + min(i, last_row) * INPUT0_PITCH_Y;
        HELD* to = rows + i * ROW_VALUES;
        vstore4(TO_HELD(4, (uchar4)0), 0, to + count / 4 * 4);
        int k = 0;
        if (INPUT0_PITCH_X == 1)
            for (; k + 16 <= count; k += 16) vstore16(TO_HELD(16, BYTES16(left, row + k)), 0, to + k);
        for (; k < count; ++k) to[k] = BYTE(left, row + k * INPUT0_PITCH_X);
    }
}

#if IN_PLACE
// Has the lines of the cache in which `count` rows of a panel's results will lie come, while they are computed.
INLINED void FUNC(ask_to_write)(const ulong first, const int count ARGS) {
    for (int i = 0; i < count; ++i)
        for (int at = 0; at < PANEL_COLUMNS * (int)sizeof(OUTPUT0_TYPE); at += 64)
            __asm__ volatile("prefetchw (%0)" : : "r"(first + i * OUTPUT0_PITCH_Y * sizeof(OUTPUT0_TYPE) + at));
}
#endif

// Scales the sums of a tile, which begins with row `first_row`, and a panel, and stores them.
void FUNC(store_panel)(const int* sums, const global INPUT2_TYPE* start_sums, const float step, WEIGHTS_PARAMETERS
                       index_t* at, const int first_row, const int panel, BIAS_PARAMETER
                       global OUTPUT0_TYPE* output ARGS) {
    const int rows = min(TILE_ROWS, (int)OUTPUT0_SIZE_Y - first_row);
    for (int j = 0; j < VECTORS; ++j) {
        const int column = at[OUTPUT0_RANK - 1] = panel * PANEL_COLUMNS + j * 16;
        if (column >= OUTPUT0_SIZE_X) break;
        const float16 unit = SCALE16(0, column) * step, bias16 = BIAS16(column);
        const int16 begin = convert_int16(INPUT2_LOAD16(start_sums, INPUT2_OFFSET + column));
        const bool is_whole = OUTPUT0_PITCH_X == 1 && column + 16 <= OUTPUT0_SIZE_X;
        at[OUTPUT0_RANK - 2] = first_row;
        index_t to = OUTPUT0_INDEX_OF(at);
        for (int i = 0; i < rows; ++i, to += OUTPUT0_PITCH_Y) {
            const int16 sum = vload16(i * VECTORS + j, sums) + begin;
            float16 total = fma(convert_float16(sum), unit, bias16);
            at[OUTPUT0_RANK - 2] = first_row + i;
            if (is_whole) {
                FUSED_OPS16(total, at, LAST)
                OUTPUT0_STORE16(output, to, total);
            } else {
                FUNC(store_some)(total, at, to, column, output PASS_ARGS);
            }
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_bytes)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                     const global INPUT2_TYPE* restrict start_sums, const global INPUT3_TYPE* restrict grid,
                     WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * ARG_TILES * TILE_ROWS;
    const int first_panel = (int)get_global_id(1) * ARG_PANELS;
    const int depth = INPUT0_SIZE_X, packed_depth = CEIL_DIV(depth, BLOCK_VALUES) * BLOCK_VALUES;
    const int panels = min((int)ARG_PANELS, (int)(OUTPUT0_SIZE_X + PANEL_COLUMNS - 1) / PANEL_COLUMNS - first_panel);
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    at[OUTPUT0_RANK - 2] = first_row;
    const index_t start = INPUT0_INDEX_OF(at);
    const global char* columns = (const global char*)right + (index_t)first_panel * packed_depth * PANEL_COLUMNS;
    const ulong panel_bytes = (ulong)packed_depth * PANEL_COLUMNS, whole[1] = {0};
    const float step = GRID(2);
    STATE(state);
#if IN_PLACE
    SUMS(sums, 1);
    const int end = min(first_row + (int)ARG_TILES * TILE_ROWS, (int)OUTPUT0_SIZE_Y);
    // While a panel is multiplied, each tile asks for its share of the next one.
    const int asks = CEIL_DIV(ASKS_OF_TURN, CEIL_DIV(end - first_row, TILE_ROWS));
    for (int p = 0; p < panels; ++p) {
        for (int row = first_row; row < end; row += TILE_ROWS) {
            ASK_FOR(state, panel_bytes + (row - first_row) / TILE_ROWS * asks * (TURN_BYTES / ASKS_OF_TURN), asks);
            const int count = min(TILE_ROWS, end - row);
            at[OUTPUT0_RANK - 2] = row, at[OUTPUT0_RANK - 1] = (first_panel + p) * PANEL_COLUMNS;
            FUNC(ask_to_write)((ulong)(output + OUTPUT0_INDEX_OF(at)), count PASS_ARGS);
            FUNC(add_byte_products)(state, sums, AT(left + start + (row - first_row) * INPUT0_PITCH_Y), INPUT0_PITCH_Y,
                                    count, whole, 1, depth / STEP_VALUES, columns + p * panel_bytes,
                                    panel_bytes, 1, true);
            FUNC(store_panel)(sums, start_sums, step, PASS_WEIGHTS at, row, first_panel + p, PASS_BIAS output
                              PASS_ARGS);
        }
    }
#else
    SUMS(sums, MOST_PANELS);
#if READS_DATA && defined(INPUT0_IS_Q8)
    if (INPUT0_PITCH_X == 1 && depth % STEP_VALUES == 0 && first_row + TILE_ROWS <= OUTPUT0_SIZE_Y) {
        FUNC(add_byte_products)(state, sums, AT(left + start), INPUT0_PITCH_Y, TILE_ROWS, whole, 1,
                                depth / STEP_VALUES, columns, panel_bytes, panels, true);
    } else
#endif
    {
        HELD rows[TILE_ROWS * ROW_VALUES];
        const float factor = GRID(0), zero = GRID(1);
        for (int base = 0; base < depth; base += DEPTH) {
            const int count = min(DEPTH, depth - base);
            FUNC(fill_bytes)(rows, left, start + base * INPUT0_PITCH_X, OUTPUT0_SIZE_Y - 1 - first_row, count, factor,
                             zero PASS_ARGS);
            FUNC(add_byte_products)(state, sums, AT(rows), ROW_BYTES, TILE_ROWS, whole, 1,
                                    CEIL_DIV(count, STEP_VALUES), columns + base * PANEL_COLUMNS, panel_bytes, panels,
                                    base == 0);
        }
    }
    for (int p = 0; p < panels; ++p)
        FUNC(store_panel)(sums + p * PANEL_SUMS, start_sums, step, PASS_WEIGHTS at, first_row, first_panel + p,
                          PASS_BIAS output PASS_ARGS);
#endif
    END_PRODUCTS();
}
