// Products of unsigned with signed bytes, added up in 32 bits: TILE_ROWS (1 to 14, 16, 32) rows x panels of 32 columns,
// for CPUs.
//   FUNC(add_byte_products)(sums, rows, row_bytes, taps, tap_count, steps, columns, panel_bytes, panels, begins)
//     adds to `sums` [panels][TILE_ROWS][32], which are 0 if it `begins`, the products of each row with each panel. A
//     row is `tap_count` runs of steps * 4 bytes, the same distances (`taps`, in bytes) from where it begins; rows
//     begin `row_bytes` from each other. A panel has for each step of each run four bytes of each of its 32 columns;
//     panels are `panel_bytes` from each other. None of the counts is 0.
//   PLACE                                   what `rows` is: in AT(pointer) of private memory, and READS_DATA if it may
//                                           be one of global memory as well
//   ROW_BYTES                               room for one row's bytes that are packed
//   SUMS(name, panels)                      declares an array of sums, whose vectors do not lie across lines of a cache
// With BYTE_PRODUCTS that is inline assembly of AVX-512's VNNI, of 16 and 32 rows of AMX, where rows are packed: one
// run, ROW_BYTES from each other. Some compilers take no names of vector registers there, neither as operands nor as
// clobbered ones. So it takes addresses alone, and leaves every register as it was, but for tile registers, in which no
// compiler holds anything.
#ifndef BYTE_PRODUCTS
#define BYTE_PRODUCTS 0
#endif

#define ROW_BYTES 1088
#define PANEL_SUMS (TILE_ROWS * 32)
#define SUMS(name, panels) int name[(panels) * PANEL_SUMS] __attribute__((aligned(64)))

#if TILE_ROWS > 14
// Tiles: sums 0 to 3 (16 rows x 16 columns each), rows 4 and 5, columns 6 and 7.
#define PLACE const uchar*
#define AT(pointer) (pointer)
#define READS_DATA 0
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

// The same of one panel and `turns` times `depth` steps, 16 at most.
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

void FUNC(add_byte_products)(int* sums, PLACE rows, const ulong row_bytes, const ulong* taps, const int tap_count,
                             const int steps, const global char* columns, const ulong panel_bytes, const int panels,
                             const bool begins) {
    const int turns = steps / 16, rest = steps % 16;
    for (int p = 0; p < panels; ++p, sums += PANEL_SUMS, columns += panel_bytes) {
        for (int i = 0; begins && i < PANEL_SUMS; i += 16) vstore16((int16)0, 0, sums + i);
        if (turns) FUNC(add_turns)(sums, rows, columns, turns, 16);
        if (rest) FUNC(add_turns)(sums, rows + turns * 64, columns + turns * 2048, 1, rest);
    }
}
#elif BYTE_PRODUCTS
#include "shared/vector_tiles.h"

#define PLACE ulong
#define AT(pointer) ((ulong)(pointer))
#define READS_DATA 1
#define BP_SAVE(n) "vmovdqu64 %%zmm" #n ", 128+64*" #n "(%[frame])\n"
#define BP_RESTORE(n) "vmovdqu64 128+64*" #n "(%[frame]), %%zmm" #n "\n"
#define BP_CLEAR(n) "vpxord %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n"
#define BP_FETCH_SUM(n) "vmovdqu64 64*" #n "(%[a]), %%zmm" #n "\n"
#define BP_PUT_SUM(n) "vmovdqu64 %%zmm" #n ", 64*" #n "(%[a])\n"
#define ROW(k, place, first, second) \
    "vpbroadcastd " place ", %%zmm30\n" \
    "vpdpbusd %%zmm28, %%zmm30, %%zmm" #first "\n" \
    "vpdpbusd %%zmm29, %%zmm30, %%zmm" #second "\n"

void FUNC(add_byte_products)(int* sums, PLACE rows, const ulong row_bytes, const ulong* taps, const int tap_count,
                             const int steps, const global char* columns, const ulong panel_bytes, const int panels,
                             const bool begins) {
    ulong frame[16 + 8 * 31] __attribute__((aligned(64)));
    frame[0] = rows, frame[1] = row_bytes, frame[2] = (ulong)taps, frame[3] = (ulong)(taps + tap_count);
    frame[4] = steps, frame[5] = (ulong)columns, frame[6] = panel_bytes, frame[7] = panels;
    frame[8] = (ulong)sums, frame[9] = begins;
    ulong row_, right, tap, left, a, b, c, d, e;
    __asm__ volatile(
        TILE_REGISTERS(BP_SAVE) "movq 8(%[frame]), %[row]\n"
        "3:\n cmpq $0, 72(%[frame])\n je 4f\n" TILE_SUMS(BP_CLEAR) "jmp 5f\n"
        "4:\n movq 64(%[frame]), %[a]\n" TILE_SUMS(BP_FETCH_SUM)
        "5:\n movq 40(%[frame]), %[right]\n movq 16(%[frame]), %[tap]\n"
        "2:\n movq (%[tap]), %[a]\n addq (%[frame]), %[a]\n movq 32(%[frame]), %[left]\n" FIND_ROWS
        "1:\n vmovdqu64 (%[right]), %%zmm28\n vmovdqu64 64(%[right]), %%zmm29\n" TILE_ROW_PLACES(0) MOVE_ROWS(4)
        "addq $128, %[right]\n decq %[left]\n jnz 1b\n"
        "addq $8, %[tap]\n cmpq 24(%[frame]), %[tap]\n jb 2b\n"
        "movq 64(%[frame]), %[a]\n" TILE_SUMS(BP_PUT_SUM)
        "addq %[panel_sums], 64(%[frame])\n movq 48(%[frame]), %[a]\n addq %[a], 40(%[frame])\n"
        "decq 56(%[frame])\n jnz 3b\n" TILE_REGISTERS(BP_RESTORE)
        : [row] "=&r"(row_), [right] "=&r"(right), [tap] "=&r"(tap), [left] "=&r"(left), [a] "=&r"(a), [b] "=&r"(b),
          [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e)
        : [frame] "r"(frame), [panel_sums] "i"(PANEL_SUMS * 4)
        : "memory", "cc");
}
#else
#define PLACE const uchar*
#define AT(pointer) (pointer)
#define READS_DATA 0

void FUNC(add_byte_products)(int* sums, PLACE rows, const ulong row_bytes, const ulong* taps, const int tap_count,
                             const int steps, const global char* columns, const ulong panel_bytes, const int panels,
                             const bool begins) {
    for (int p = 0; p < panels; ++p, sums += PANEL_SUMS) {
        for (int i = 0; begins && i < PANEL_SUMS; i += 16) vstore16((int16)0, 0, sums + i);
        const global int* fours = (const global int*)(columns + p * panel_bytes);
        for (int step = 0; step < tap_count * steps; ++step)
            for (int half_panel = 0; half_panel < 2; ++half_panel, fours += 16) {
                const int16 four = vload16(0, fours);
                for (int i = 0; i < TILE_ROWS; ++i) {
                    const uchar4 row = vload4(0, rows + taps[step / steps] + i * row_bytes + step % steps * 4);
                    const int16 added = (four << 24 >> 24) * (int)row.x + (four << 16 >> 24) * (int)row.y
                                      + (four << 8 >> 24) * (int)row.z + (four >> 24) * (int)row.w;
                    const int at = i * 2 + half_panel;
                    vstore16(vload16(at, sums) + added, at, sums);
                }
            }
    }
}
#endif
