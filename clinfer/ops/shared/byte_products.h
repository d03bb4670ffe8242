// Products of unsigned with signed bytes, added up in 32 bits: TILE_ROWS (1 to 14, 16, 32) rows x 32 columns, for CPUs.
//   ROW_BYTES                               room for one row's bytes; rows lie that far apart
//   FUNC(add_byte_products)(sums, rows, columns, steps)
//     adds to `sums` [TILE_ROWS][32] the products of steps * 4 bytes (steps > 0) of each row with a panel of columns,
//     which has for each step four bytes of each of its 32 columns
// With BYTE_PRODUCTS that is inline assembly of AVX-512's VNNI, of 16 and 32 rows of AMX. Some compilers take no names
// of vector registers there, neither as operands nor as clobbered ones. So it takes addresses alone, and leaves every
// register as it was, but for tile registers, in which no compiler holds anything.
#ifndef BYTE_PRODUCTS
#define BYTE_PRODUCTS 0
#endif

#define ROW_BYTES 1088

#if TILE_ROWS > 14
// Tiles: sums 0 to 3 (16 rows x 16 columns each), rows 4 and 5, columns 6 and 7.
#if TILE_ROWS == 32
#define BP_OF_32_ROWS(text) text
#else
#define BP_OF_32_ROWS(text)
#endif
#define BP_MOVE_SUMS(move) \
    move("(%[sums],%[pitch])", "0") move("64(%[sums],%[pitch])", "1") \
    BP_OF_32_ROWS(move("2048(%[sums],%[pitch])", "2") move("2112(%[sums],%[pitch])", "3"))
#define BP_LOAD_TILE(place, n) "tileloadd " place ", %%tmm" n "\n"
#define BP_STORE_TILE(place, n) "tilestored %%tmm" n ", " place "\n"

// The same of `turns` times `depth` steps, 16 at most.
INLINED void FUNC(add_turns)(int* sums, const uchar* rows, const global char* columns, const ulong turns,
                             const ulong depth) {
    // The shapes of the registers: a palette, 16 sizes of rows in bytes, 16 numbers of rows.
    ulong shapes[8] = {1, 0, 0x0040004000400040, 0x0040004000000000 | depth * 0x00040004, 0, 0,
                       0x0000101010101010 | depth << 48 | depth << 56, 0};
    ulong left = turns, pitch = 128, row = ROW_BYTES;
    __asm__ volatile(
        "ldtilecfg (%[shapes])\n" BP_MOVE_SUMS(BP_LOAD_TILE)
        "1:\n" BP_LOAD_TILE("(%[rows],%[row])", "4") BP_LOAD_TILE("(%[columns],%[pitch])", "6")
        BP_LOAD_TILE("64(%[columns],%[pitch])", "7") BP_OF_32_ROWS(BP_LOAD_TILE("17408(%[rows],%[row])", "5"))
        "tdpbusd %%tmm6, %%tmm4, %%tmm0\n tdpbusd %%tmm7, %%tmm4, %%tmm1\n"
        BP_OF_32_ROWS("tdpbusd %%tmm6, %%tmm5, %%tmm2\n tdpbusd %%tmm7, %%tmm5, %%tmm3\n")
        "addq $64, %[rows]\n addq $2048, %[columns]\n decq %[left]\n jnz 1b\n"
        BP_MOVE_SUMS(BP_STORE_TILE) "tilerelease\n"
        : [rows] "+r"(rows), [columns] "+r"(columns), [left] "+r"(left)
        : [sums] "r"(sums), [shapes] "r"(shapes), [pitch] "r"(pitch), [row] "r"(row)
        : "memory", "cc");
}

void FUNC(add_byte_products)(int* sums, const uchar* rows, const global char* columns, int steps) {
    const int turns = steps / 16, rest = steps % 16;
    if (turns) FUNC(add_turns)(sums, rows, columns, turns, 16);
    if (rest) FUNC(add_turns)(sums, rows + turns * 64, columns + turns * 2048, 1, rest);
}
#elif BYTE_PRODUCTS
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
