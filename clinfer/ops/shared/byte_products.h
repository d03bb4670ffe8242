// Products of unsigned with signed bytes, added up in 32 bits: TILE_ROWS (1 to 14, 16, 32) rows x panels of
// PANEL_COLUMNS columns, two vectors of VECTOR_FLOATS (16 or 8), for CPUs.
//   FUNC(add_byte_products)(state, sums, rows, row_bytes, row_count, taps, tap_count, steps, columns, panel_bytes,
//                           panels, begins)
//     adds to `sums` [panels][TILE_ROWS][PANEL_COLUMNS], which are 0 if it `begins`, the products of each row with each
//     panel. A row is `tap_count` runs of steps * STEP_VALUES values, the same distances (`taps`, in bytes) from where
//     it begins; rows begin `row_bytes` from each other. A panel has for each step of each run STEP_VALUES bytes of
//     each of its columns; panels are `panel_bytes` from each other. None of the counts is 0. Of 16 and 32 rows by AMX
//     only the first `row_count` need be there, 1 at least; the sums of the others are anything; and several runs have
//     16 steps at most each.
//   STATE(name), END_PRODUCTS()             declares the state that products of one work-item share; behind the last
//   HELD, HELD4, HELD16, HELD_BYTES         the type in which the values of rows lie there, vectors, and its bytes
//   TO_HELD(n, values)                      a uchar4 or uchar16 as such a vector
//   PLACE                                   what `rows` is: in AT(pointer) of private memory, and READS_DATA if it may
//                                           be one of global memory as well
//   ROW_VALUES, ROW_BYTES                   room for one row that is packed
//   SUMS(name, panels)                      declares an array of sums, whose vectors do not lie across lines of a cache
// With BYTE_PRODUCTS that is inline assembly: with STEP_VALUES 4 of AVX-512's VNNI, of 16 and 32 rows of AMX; with
// STEP_VALUES 2 and vectors of 8 of AVX2, for up to 6 rows whose values lie in 16 bits. Some compilers take no names of
// vector registers there, neither as operands nor as clobbered ones. So it takes addresses alone, and leaves every
// register as it was, but for tile registers, in which no compiler holds anything.
#ifndef BYTE_PRODUCTS
#define BYTE_PRODUCTS 0
#endif
#ifndef STEP_VALUES
#define STEP_VALUES 4
#endif
#ifndef VECTOR_FLOATS
#define VECTOR_FLOATS 16
#endif

#define PANEL_COLUMNS (2 * VECTOR_FLOATS)
#define PANEL_SUMS (TILE_ROWS * PANEL_COLUMNS)
#define SUMS(name, panels) int name[(panels) * PANEL_SUMS] __attribute__((aligned(64)))

#define ROW_VALUES 1088
#define ROW_BYTES (ROW_VALUES * HELD_BYTES)
#if STEP_VALUES == 2
#define HELD ushort
#define HELD_BYTES 2
#define HELD4 ushort4
#define HELD16 ushort16
#define TO_HELD(n, values) convert_ushort##n(values)
#else
#define HELD uchar
#define HELD_BYTES 1
#define HELD4 uchar4
#define HELD16 uchar16
#define TO_HELD(n, values) (values)
#endif

#if TILE_ROWS <= 14
#define STATE(name) ulong name[1] = {0}
#define END_PRODUCTS()
#endif

#if TILE_ROWS > 14
// Tiles: sums 0 to 3 (16 rows x 16 columns each), rows 4 and 5, columns 6 and 7.
#define PLACE ulong
#define AT(pointer) ((ulong)(pointer))
#define READS_DATA 1
// The shapes that the registers have, none yet, which they keep from one tile to the next. Which columns each turn asks
// for: how far they lie behind those that it multiplies, in bytes, and how many times four lines of the cache: for all
// that a turn multiplies, ASKS_OF_TURN, there is no loop. How far rows 16 to 31 lie behind the others, the columns of
// one turn behind those of the one before, both in bytes, and whether sums begin.
#define STATE(name) ulong name[6] = {0, 2 * TURN_BYTES, ASKS_OF_TURN}
#define ASK_FOR(name, distance, asks) ((name)[1] = (distance), (name)[2] = (asks))
#define STEP_BYTES 128
#define TURN_BYTES (16 * STEP_BYTES)
#define MOST_TURNS 64
#define ASKS_OF_TURN 8
#define END_PRODUCTS() __asm__ volatile("tilerelease" : : : "memory")
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

#define BP_ASK_FOUR(at) \
    "prefetcht0 " #at "(%[later])\n prefetcht0 64+" #at "(%[later])\n" \
    "prefetcht0 128+" #at "(%[later])\n prefetcht0 192+" #at "(%[later])\n"

// The same of one panel and of turns, each as many steps as the shapes of the registers tell, from `taps` up to `end`.
INLINED void FUNC(add_turns)(const ulong* state, int* sums, const ulong rows, const ulong row_bytes, const ulong* taps,
                             const ulong* end, const global char* columns) {
    ulong at, later, asks;
    const ulong pitch = 128;
    __asm__ volatile(
        "cmpq $0, 40(%[state])\n jne 2f\n" BP_MOVE_SUMS(BP_LOAD_TILE) "jmp 1f\n"
        "2:\n tilezero %%tmm0\n tilezero %%tmm1\n" BP_OF_32_ROWS("tilezero %%tmm2\n tilezero %%tmm3\n")
        "1:\n movq (%[taps]), %[at]\n addq %[rows], %[at]\n"
        BP_LOAD_TILE("(%[at],%[row])", "4") BP_LOAD_TILE("(%[columns],%[pitch])", "6")
        BP_LOAD_TILE("64(%[columns],%[pitch])", "7")
        BP_OF_32_ROWS("addq 24(%[state]), %[at]\n" BP_LOAD_TILE("(%[at],%[row])", "5"))
        "movq 8(%[state]), %[later]\n addq %[columns], %[later]\n movq 16(%[state]), %[asks]\n"
        "cmpq %[whole], %[asks]\n je 4f\n"
        "3:\n" BP_ASK_FOUR(0) "addq $256, %[later]\n decq %[asks]\n jnz 3b\n jmp 5f\n"
        "4:\n" BP_ASK_FOUR(0) BP_ASK_FOUR(256) BP_ASK_FOUR(512) BP_ASK_FOUR(768)
        BP_ASK_FOUR(1024) BP_ASK_FOUR(1280) BP_ASK_FOUR(1536) BP_ASK_FOUR(1792) "5:\n"
        "tdpbusd %%tmm6, %%tmm4, %%tmm0\n tdpbusd %%tmm7, %%tmm4, %%tmm1\n"
        BP_OF_32_ROWS("tdpbusd %%tmm6, %%tmm5, %%tmm2\n tdpbusd %%tmm7, %%tmm5, %%tmm3\n")
        "addq $8, %[taps]\n addq 32(%[state]), %[columns]\n cmpq %[end], %[taps]\n jb 1b\n"
        BP_MOVE_SUMS(BP_STORE_TILE)
        : [taps] "+r"(taps), [columns] "+r"(columns), [at] "=&r"(at), [later] "=&r"(later), [asks] "=&r"(asks)
        : [sums] "r"(sums), [pitch] "r"(pitch), [rows] "r"(rows), [row] "r"(row_bytes), [end] "r"(end),
          [state] "r"(state), [whole] "i"(ASKS_OF_TURN)
        : "memory", "cc");
}

// The same of all panels, for turns of `depth` steps, 16 at most: to set the shapes takes as long as several turns.
INLINED void FUNC(add_turns_of_panels)(ulong* state, int* sums, const ulong rows, const ulong row_bytes,
                                       const int row_count, const ulong* taps, const int turns, const ulong depth,
                                       const global char* columns, const ulong panel_bytes, const int panels,
                                       const bool begins) {
    const ulong upper = min(row_count, 16), lower = max(row_count - 16, 1);
    if (*state != (depth | (ulong)row_count << 8)) {
        // A palette, 16 sizes of rows in bytes, 16 numbers of rows, of which none may be 0.
        ulong shapes[8] = {1, 0, 0x0040004000400040, 0x0040004000000000 | depth * 0x00040004, 0, 0,
                           upper * 0x100000101 | lower * 0x10001010000 | depth << 48 | depth << 56, 0};
        __asm__ volatile("ldtilecfg (%[shapes])" : : [shapes] "r"(shapes) : "memory");
        *state = depth | (ulong)row_count << 8;
    }
    state[3] = row_count > 16 ? 16 * row_bytes : 0, state[4] = depth * STEP_BYTES, state[5] = begins;
    for (int p = 0; p < panels; ++p)
        FUNC(add_turns)(state, sums + p * PANEL_SUMS, rows, row_bytes, taps, taps + turns, columns + p * panel_bytes);
}

void FUNC(add_byte_products)(ulong* state, int* sums, PLACE rows, const ulong row_bytes, const int row_count,
                             const ulong* taps, const int tap_count, const int steps, const global char* columns,
                             const ulong panel_bytes, const int panels, const bool begins) {
    if (tap_count > 1) {
        FUNC(add_turns_of_panels)(state, sums, rows, row_bytes, row_count, taps, tap_count, steps, columns, panel_bytes,
                                  panels, begins);
        return;
    }
    const int turns = steps / 16, rest = steps % 16;
    ulong places[MOST_TURNS];
    for (int done = 0; done < turns; done += MOST_TURNS) {
        const int count = min(MOST_TURNS, turns - done);
        for (int i = 0; i < count; ++i) places[i] = *taps + (done + i) * 64;
        FUNC(add_turns_of_panels)(state, sums, rows, row_bytes, row_count, places, count, 16,
                                  columns + done * TURN_BYTES, panel_bytes, panels, begins && !done);
    }
    if (rest) {
        places[0] = *taps + turns * 64;
        FUNC(add_turns_of_panels)(state, sums, rows, row_bytes, row_count, places, 1, rest,
                                  columns + turns * TURN_BYTES, panel_bytes, panels, begins && !turns);
    }
}
#elif BYTE_PRODUCTS
#define ROWS_BY_PITCH 1
#include "shared/vector_tiles.h"

#define PLACE ulong
#define AT(pointer) ((ulong)(pointer))
#define BP_SAVE(n) BP_MOVE VECTOR #n ", 128+64*" #n "(%[frame])\n"
#define BP_RESTORE(n) BP_MOVE "128+64*" #n "(%[frame]), " VECTOR #n "\n"
#define BP_CLEAR(n) BP_XOR VECTOR #n ", " VECTOR #n ", " VECTOR #n "\n"
#define BP_FETCH_SUM(n) BP_MOVE VECTOR_BYTES "*" #n "(%[a]), " VECTOR #n "\n"
#define BP_PUT_SUM(n) BP_MOVE VECTOR #n ", " VECTOR_BYTES "*" #n "(%[a])\n"
#if STEP_VALUES == 4
#define READS_DATA 1
#define BP_MOVE "vmovdqu64 "
#define BP_XOR "vpxord "
#define BP_REGISTERS(each) TILE_REGISTERS(each)
#define ROW(k, place, first, second) \
    "vpbroadcastd " place ", " ROW_VALUE "\n" \
    "vpdpbusd " FIRST_COLUMNS ", " ROW_VALUE ", " VECTOR #first "\n" \
    "vpdpbusd " OTHER_COLUMNS ", " ROW_VALUE ", " VECTOR #second "\n"
#define BP_STEPS \
    "1:\n vmovdqu64 (%[right]), " FIRST_COLUMNS "\n vmovdqu64 64(%[right]), " OTHER_COLUMNS "\n" \
    TILE_ROW_PLACES(0) MOVE_ROWS(4) "addq $128, %[right]\n decq %[left]\n jnz 1b\n"
#else
// Sums of two products in 32 bits are exact, and a step is a pair of values. Weights become as wide as the values on
// their way into registers.
#define READS_DATA 0
#define BP_MOVE "vmovdqu "
#define BP_XOR "vpxor "
#define BP_REGISTERS(each) TILE_REGISTERS(each) each(15)
#define ROW(k, place, first, second) \
    "vpbroadcastd 4*" #k place ", " ROW_VALUE "\n" \
    "vpmaddwd " FIRST_COLUMNS ", " ROW_VALUE ", %%ymm15\n vpmaddwd " OTHER_COLUMNS ", " ROW_VALUE ", " ROW_VALUE "\n" \
    "vpaddd %%ymm15, " VECTOR #first ", " VECTOR #first "\n" \
    "vpaddd " ROW_VALUE ", " VECTOR #second ", " VECTOR #second "\n"
#define BP_PAIR(k) \
    "vpmovsxbw 32*" #k "(%[right]), " FIRST_COLUMNS "\n vpmovsxbw 16+32*" #k "(%[right]), " OTHER_COLUMNS "\n" \
    TILE_ROW_PLACES(k)
// Four steps at a time, then one by one.
#define BP_STEPS \
    "subq $4, %[left]\n jb 6f\n" \
    "1:\n prefetcht0 1024(%[right])\n prefetcht0 1088(%[right])\n" BP_PAIR(0) BP_PAIR(1) BP_PAIR(2) BP_PAIR(3) \
    MOVE_ROWS(16) "subq $-128, %[right]\n subq $4, %[left]\n jae 1b\n" \
    "6:\n addq $4, %[left]\n jz 8f\n" \
    "7:\n" BP_PAIR(0) MOVE_ROWS(4) "addq $32, %[right]\n decq %[left]\n jnz 7b\n 8:\n"
#endif

void FUNC(add_byte_products)(ulong* state, int* sums, PLACE rows, const ulong row_bytes, const int row_count,
                             const ulong* taps, const int tap_count, const int steps, const global char* columns,
                             const ulong panel_bytes, const int panels, const bool begins) {
    ulong frame[16 + 8 * 31] __attribute__((aligned(64)));
    frame[0] = rows, frame[1] = row_bytes, frame[2] = (ulong)taps, frame[3] = (ulong)(taps + tap_count);
    frame[4] = steps, frame[5] = (ulong)columns, frame[6] = panel_bytes, frame[7] = panels;
    frame[8] = (ulong)sums, frame[9] = begins;
    ulong row_, right, tap, left, a, b, c, d, e;
    __asm__ volatile(
        BP_REGISTERS(BP_SAVE) "movq 8(%[frame]), %[row]\n"
        "3:\n cmpq $0, 72(%[frame])\n je 4f\n" TILE_SUMS(BP_CLEAR) "jmp 5f\n"
        "4:\n movq 64(%[frame]), %[a]\n" TILE_SUMS(BP_FETCH_SUM)
        "5:\n movq 40(%[frame]), %[right]\n movq 16(%[frame]), %[tap]\n"
        "2:\n movq (%[tap]), %[a]\n addq (%[frame]), %[a]\n movq 32(%[frame]), %[left]\n" FIND_ROWS BP_STEPS
        "addq $8, %[tap]\n cmpq 24(%[frame]), %[tap]\n jb 2b\n"
        "movq 64(%[frame]), %[a]\n" TILE_SUMS(BP_PUT_SUM)
        "addq %[panel_sums], 64(%[frame])\n movq 48(%[frame]), %[a]\n addq %[a], 40(%[frame])\n"
        "decq 56(%[frame])\n jnz 3b\n" BP_REGISTERS(BP_RESTORE)
        : [row] "=&r"(row_), [right] "=&r"(right), [tap] "=&r"(tap), [left] "=&r"(left), [a] "=&r"(a), [b] "=&r"(b),
          [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e)
        : [frame] "r"(frame), [panel_sums] "i"(PANEL_SUMS * 4)
        : "memory", "cc");
}
#else
#define PLACE const uchar*
#define AT(pointer) (pointer)
#define READS_DATA 0

void FUNC(add_byte_products)(ulong* state, int* sums, PLACE rows, const ulong row_bytes, const int row_count,
                             const ulong* taps, const int tap_count, const int steps, const global char* columns,
                             const ulong panel_bytes, const int panels, const bool begins) {
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
