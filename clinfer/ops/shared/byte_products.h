// Products of unsigned with signed bytes, added up in 32 bits: TILE_ROWS (at most 14) rows x 32 columns, for CPUs.
//   ROW_BYTES                               room for one row's bytes; rows lie that far apart
//   FUNC(add_byte_products)(sums, rows, columns, steps)
//     adds to `sums` [TILE_ROWS][32] the products of steps * 4 bytes (steps > 0) of each row with a panel of columns,
//     which has for each step four bytes of each of its 32 columns
// With BYTE_PRODUCTS that is inline assembly of AVX-512's VNNI. Some compilers take no names of vector registers there,
// neither as operands nor as clobbered ones. So it takes addresses alone, and leaves every register as it was.
#ifndef BYTE_PRODUCTS
#define BYTE_PRODUCTS 0
#endif

#define ROW_BYTES 1088

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
