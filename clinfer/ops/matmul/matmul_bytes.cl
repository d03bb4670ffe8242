// Matrix product of whole numbers of 8 bits, for CPUs.
// One work-item computes TILE_ROWS rows x ARG_PANELS panels of 32 columns (MOST_PANELS at most). It goes through K in
// steps of DEPTH: the rows of the left side, multiples of a step, become bytes (number / step + zero point); rows
// behind the last repeat it. Their products with the weights are added up exactly, and the sum is scaled at the end.
// Views, all of one rank: left [..., M, K], output [..., M, N]; weights [panels, K / 4, 32, 4]; what the sums start
// with (-zero point * sum of the column's weights) [1, N] and scales [1, N] in panels of 32, bias [N] in blocks of 16;
// grid [1, 3]: 1 / step, zero point, step.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define MOST_PANELS 4
#define ARG_PANELS 1
#define COMPRESSED 0
#define HAS_ZERO_POINT 0
#define GROUP_SIZE 0
#define SHARED_BYTES 0
#define LOWEST 0
#define SCALE16(k, column) ((float16)1.0f)
#endif

#include "shared/bias.h"
#include "weights.h"
#include "tile.h"

// Products of unsigned with signed bytes, added up in 32 bits: TILE_ROWS (at most 14) rows x 32 columns, for CPUs.
//   ROW_BYTES                               room for one row's bytes; rows lie that far apart
//   FUNC(add_byte_products)(sums, rows, columns, steps)
//     adds to `sums` [TILE_ROWS][32] the products of steps * 4 bytes of each row with a panel of columns, which has for
//     each step four bytes of each of its 32 columns
// With BYTE_PRODUCTS that is inline assembly of AVX-512's VNNI. Some compilers take no names of vector registers there,
// neither as operands nor as clobbered ones. So it takes addresses alone, and leaves every register as it was.
#ifndef BYTE_PRODUCTS
#define BYTE_PRODUCTS 0
#endif

#define ROW_BYTES 1088
#define MOST_STEPS 256

#if BYTE_PRODUCTS
#define BP_SAVE(place, n) "vmovdqu64 %%zmm" #n ", " #place "(%[saved])\n"
#define BP_RESTORE(place, n) "vmovdqu64 " #place "(%[saved]), %%zmm" #n "\n"
#define BP_LOAD(row, low, high) \
    "vmovdqu64 128*" #row "(%[sums]), %%zmm" #low "\n" \
    "vmovdqu64 128*" #row "+64(%[sums]), %%zmm" #high "\n"
#define BP_STORE(row, low, high) \
    "vmovdqu64 %%zmm" #low ", 128*" #row "(%[sums])\n" \
    "vmovdqu64 %%zmm" #high ", 128*" #row "+64(%[sums])\n"
#define BP_MULTIPLY(row, low, high) \
    "vpbroadcastd 1088*" #row "(%[rows]), %%zmm30\n" \
    "vpdpbusd %%zmm28, %%zmm30, %%zmm" #low "\n" \
    "vpdpbusd %%zmm29, %%zmm30, %%zmm" #high "\n"
#define BP_KEEP(DO) DO(0, 28) DO(64, 29) DO(128, 30)
#define BP_KEEP_ROW(DO, row, low, high) DO(192+128*row, low) DO(256+128*row, high)
#define BP_SAVE_ROW(row, low, high) BP_KEEP_ROW(BP_SAVE, row, low, high)
#define BP_RESTORE_ROW(row, low, high) BP_KEEP_ROW(BP_RESTORE, row, low, high)

#if TILE_ROWS == 1
#define BP_ROWS(DO) DO(0, 0, 1)
#elif TILE_ROWS == 4
#define BP_ROWS(DO) DO(0, 0, 1) DO(1, 2, 3) DO(2, 4, 5) DO(3, 6, 7)
#elif TILE_ROWS == 8
#define BP_ROWS(DO) \
    DO(0, 0, 1) DO(1, 2, 3) DO(2, 4, 5) DO(3, 6, 7) DO(4, 8, 9) DO(5, 10, 11) DO(6, 12, 13) DO(7, 14, 15)
#elif TILE_ROWS == 14
#define BP_ROWS(DO) \
    DO(0, 0, 1) DO(1, 2, 3) DO(2, 4, 5) DO(3, 6, 7) DO(4, 8, 9) DO(5, 10, 11) DO(6, 12, 13) DO(7, 14, 15) \
    DO(8, 16, 17) DO(9, 18, 19) DO(10, 20, 21) DO(11, 22, 23) DO(12, 24, 25) DO(13, 26, 27)
#endif

void FUNC(add_byte_products)(int* sums, const uchar* rows, const global char* columns, int steps) {
    char saved[64 * (3 + 2 * TILE_ROWS)];
    char* place = saved;
    __asm__ volatile(BP_KEEP(BP_SAVE) BP_ROWS(BP_SAVE_ROW) BP_ROWS(BP_LOAD)
                     "1:\n"
                     "vmovdqu64 (%[columns]), %%zmm28\n"
                     "vmovdqu64 64(%[columns]), %%zmm29\n"
                     BP_ROWS(BP_MULTIPLY)
                     "addq $4, %[rows]\n"
                     "addq $128, %[columns]\n"
                     "decl %[steps]\n"
                     "jnz 1b\n"
                     BP_ROWS(BP_STORE) BP_KEEP(BP_RESTORE) BP_ROWS(BP_RESTORE_ROW)
                     : [rows] "+r"(rows), [columns] "+r"(columns), [steps] "+r"(steps)
                     : [sums] "r"(sums), [saved] "r"(place)
                     : "memory", "cc");
}
#else
void FUNC(add_byte_products)(int* sums, const uchar* rows, const global char* columns, int steps) {
    for (int step = 0; step < steps; ++step)
        for (int half_panel = 0; half_panel < 2; ++half_panel) {
            const int16 four = as_int16(vload16(0, (const global int*)(columns + step * 128 + half_panel * 64)));
            for (int i = 0; i < TILE_ROWS; ++i) {
                const uchar4 row = vload4(step, rows + i * ROW_BYTES);
                const int16 added = (four << 24 >> 24) * (int)row.x + (four << 16 >> 24) * (int)row.y
                                  + (four << 8 >> 24) * (int)row.z + (four >> 24) * (int)row.w;
                const int at = i * 2 + half_panel;
                vstore16(vload16(at, sums) + added, at, sums);
            }
        }
}
#endif

#define DEPTH 1024
#define GRID(n) INPUT3_LOAD(grid, INPUT3_OFFSET + (n))

// Copies `count` values of TILE_ROWS rows, starting at element `start` of the first row, as bytes; zeros fill up the
// last four.
void FUNC(fill_bytes)(uchar* rows, const global INPUT0_TYPE* left, const index_t start, const int last_row,
                      const int count, const float factor, const float zero ARGS) {
    for (int i = 0; i < TILE_ROWS; ++i) {
        const index_t row = start + min(i, last_row) * INPUT0_PITCH_Y;
        uchar* to = rows + i * ROW_BYTES;
        vstore4((uchar4)0, 0, to + count / 4 * 4);
        int k = 0;
        if (INPUT0_PITCH_X == 1)
            for (; k + 16 <= count; k += 16)
                vstore16(convert_uchar16_sat_rte(fma(INPUT0_LOAD16(left, row + k), factor, zero)), 0, to + k);
        for (; k < count; ++k)
            to[k] = convert_uchar_sat_rte(fma(INPUT0_LOAD(left, row + k * INPUT0_PITCH_X), factor, zero));
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_bytes)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                     const global INPUT2_TYPE* restrict start_sums, const global INPUT3_TYPE* restrict grid,
                     WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * TILE_ROWS, first_panel = (int)get_global_id(1) * ARG_PANELS;
    const int depth = INPUT0_SIZE_X, packed_depth = (depth + 3) / 4 * 4;
    const int panels = min((int)ARG_PANELS, (int)(OUTPUT0_SIZE_X + PANEL_COLUMNS - 1) / PANEL_COLUMNS - first_panel);
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    at[OUTPUT0_RANK - 2] = first_row;
    const index_t start = INPUT0_INDEX_OF(at);
    const global char* columns = (const global char*)right + (index_t)first_panel * packed_depth * PANEL_COLUMNS;

    int sums[MOST_PANELS][TILE_ROWS * PANEL_COLUMNS];
    for (int p = 0; p < panels; ++p)
        for (int j = 0; j < VECTORS; ++j) {
            const int column = (first_panel + p) * PANEL_COLUMNS + j * 16;
            const int16 begin = convert_int16(INPUT2_LOAD16(start_sums, INPUT2_OFFSET + column));
            for (int i = 0; i < TILE_ROWS; ++i) vstore16(begin, i * VECTORS + j, sums[p]);
        }

    uchar rows[TILE_ROWS * ROW_BYTES];
    const float factor = GRID(0), zero = GRID(1);
    for (int base = 0; base < depth; base += DEPTH) {
        const int count = min(DEPTH, depth - base);
        FUNC(fill_bytes)(rows, left, start + base * INPUT0_PITCH_X, OUTPUT0_SIZE_Y - 1 - first_row, count, factor,
                         zero PASS_ARGS);
        for (int p = 0; p < panels; ++p)
            FUNC(add_byte_products)(sums[p], rows, columns + ((index_t)p * packed_depth + base) * PANEL_COLUMNS,
                                    (count + 3) / 4);
    }

    const float step = GRID(2);
    for (int p = 0; p < panels; ++p) {
        const int panel = first_panel + p;
        float totals[TILE_ROWS * PANEL_COLUMNS];
        for (int j = 0; j < VECTORS; ++j) {
            const float16 unit = SCALE16(0, panel * PANEL_COLUMNS + j * 16) * step;
            for (int i = 0; i < TILE_ROWS; ++i) {
                const int part = i * VECTORS + j;
                vstore16(convert_float16(vload16(part, sums[p])) * unit, part, totals);
            }
        }
        FUNC(store_rows)(totals, at, first_row, panel, PASS_BIAS output PASS_ARGS);
    }
}
