// Tiles of TILE_ROWS rows (1 to 14, 16 or 32) x 32 columns whose sums grow by products of bf16 pairs, on x86 CPUs: by
// `vdpbf16ps`, of 16 and 32 rows in AMX's tile registers.
//
// ADD_PRODUCTS(frame) is one block of assembly that holds the whole loop. No compiler is told of the vector
// registers that it uses (one rejects such operands and clobbers): it saves them first and restores them last, so that
// whatever a compiler keeps in them survives. Its arguments are a FRAME, ulong[FRAME_WORDS], the addresses as numbers:
//   LEFT_AT        bf16 pairs of the first row; the 16 values of a step lie together
//   ROW_BYTES      from one row to the next
//   STEP_BYTES     from one step of 16 values to the next
//   STEP_COUNT     how many steps there are, 1 at least
//   HALF_AT        the value of STEP_COUNT, which is counted down, at which the second half of a step is left out: 1
//                  for the last one, 0 for none. STEPS_HALVE tells whether tiles do that
//   FIRST_BEGINS   not 0: the sums of every row begin with what those of the first row are
//   TAPS_AT        up to TAPS_END: an array of ulong; in each step, rows are read at each of these distances (bytes)
//   RIGHT_AT       16 columns: for each step and tap, 8 pairs of values x 16 columns x 2 values, one behind another
//   OTHER_BYTES    from these columns to the other 16
// and it adds to frame_sums(frame): float [TILE_ROWS][32]. LEFT_AT, RIGHT_AT and STEP_COUNT are changed. Products
// of two bf16 are exact and summed in float; subnormal numbers count as 0.
#define LEFT_AT 0
#define RIGHT_AT 1
#define OTHER_BYTES 2
#define ROW_BYTES 3
#define STEP_BYTES 4
#define STEP_COUNT 5
#define TAPS_AT 6
#define TAPS_END 7
#define HALF_AT 256
#define FIRST_BEGINS 257
#define FRAME_WORDS (8 + 8 * 32 + 8 * 2 * TILE_ROWS)
#define TILE_COLUMNS 32
#define STEP_DEPTH 16
// Vectors in it must not lie across lines of the cache.
#define FRAME(name) ulong name[FRAME_WORDS] __attribute__((aligned(64)))
#define frame_sums(frame) ((float*)((frame) + 8 + 8 * 32))

#define STEPS_HALVE (TILE_ROWS <= 14)

#if TILE_ROWS > 14
// Registers: sums 0 to 3 (16 rows x 16 columns each), rows 4 and 5, columns 6 and 7. No compiler holds anything in
// them. Where rows are read at one distance, and their steps lie one behind another, two steps are multiplied at once.
#define STEP_WEIGHTS 512

#if TILE_ROWS == 32
#define OF_32_ROWS(text) text
#else
#define OF_32_ROWS(text)
#endif

#define MOVE_SUMS(move) \
    "leaq 2112(%[frame]), %[a]\n movq $128, %[b]\n" move("(%[a],%[b])", "0") move("64(%[a],%[b])", "1") \
    OF_32_ROWS(move("2048(%[a],%[b])", "2") move("2112(%[a],%[b])", "3"))
#define LOAD_TILE(place, n) "tileloadd " place ", %%tmm" n "\n"
#define STORE_TILE(place, n) "tilestored %%tmm" n ", " place "\n"

// Adds the products of STEP_COUNT times `depth` steps (1 or 2), that lie `depth` * STEP_BYTES from each other.
INLINED void clinfer_add_steps(ulong* frame, const ulong depth) {
    // The shapes of the registers: a palette, 16 sizes of rows in bytes, 16 numbers of rows.
    frame[8] = 1, frame[9] = 0, frame[10] = 0x0040004000400040, frame[11] = 0x0040004000000000 | depth * 0x00200020;
    frame[12] = frame[13] = frame[15] = 0, frame[14] = 0x0000101010101010 | depth << 51 | depth << 59;
    frame[16] = depth * STEP_WEIGHTS, frame[17] = depth * frame[STEP_BYTES];
    ulong row, right, other, tap, a, b, next, pitch = 64;
    __asm__ volatile(
        "ldtilecfg 64(%[frame])\n" MOVE_SUMS(LOAD_TILE)
        "movq 8(%[frame]), %[right]\n movq 16(%[frame]), %[other]\n movq 24(%[frame]), %[row]\n"
        "movq 128(%[frame]), %[next]\n"
        "2:\n movq 48(%[frame]), %[tap]\n"
        "1:\n movq (%[tap]), %[a]\n addq (%[frame]), %[a]\n leaq (%[right],%[other]), %[b]\n"
        LOAD_TILE("(%[a],%[row])", "4") LOAD_TILE("(%[right],%[pitch])", "6") LOAD_TILE("(%[b],%[pitch])", "7")
        OF_32_ROWS("movq %[row], %[b]\n shlq $4, %[b]\n addq %[b], %[a]\n" LOAD_TILE("(%[a],%[row])", "5"))
        "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n"
        OF_32_ROWS("tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n tdpbf16ps %%tmm7, %%tmm5, %%tmm3\n")
        "addq %[next], %[right]\n addq $8, %[tap]\n cmpq 56(%[frame]), %[tap]\n jb 1b\n"
        "movq 136(%[frame]), %[a]\n addq %[a], (%[frame])\n decq 40(%[frame])\n jnz 2b\n"
        MOVE_SUMS(STORE_TILE) "tilerelease\n movq %[right], 8(%[frame])\n"
        : [row] "=&r"(row), [right] "=&r"(right), [other] "=&r"(other), [tap] "=&r"(tap), [a] "=&r"(a), [b] "=&r"(b),
          [next] "=&r"(next)
        : [frame] "r"(frame), [pitch] "r"(pitch)
        : "memory", "cc");
}

INLINED void clinfer_add_products(ulong* frame) {
    if (frame[FIRST_BEGINS])
        for (int i = 2; i < 2 * TILE_ROWS; ++i)
            vstore16(vload16(i % 2, frame_sums(frame)), i, frame_sums(frame));
    const ulong steps = frame[STEP_COUNT];
    const bool has_one_tap = frame[TAPS_END] - frame[TAPS_AT] == sizeof(ulong);
    const bool is_run = has_one_tap && frame[STEP_BYTES] == STEP_DEPTH * sizeof(ushort);
    if (is_run && steps > 1) {
        frame[STEP_COUNT] = steps / 2;
        clinfer_add_steps(frame, 2);
        frame[STEP_COUNT] = steps % 2;
    }
    if (frame[STEP_COUNT]) clinfer_add_steps(frame, 1);
}

#define ADD_PRODUCTS(frame) clinfer_add_products(frame)
#else
#include "shared/vector_tiles.h"

#define SAVE(n) "vmovups %%zmm" #n ", 64+64*" #n "(%[frame])\n"
#define RESTORE(n) "vmovups 64+64*" #n "(%[frame]), %%zmm" #n "\n"
#define FETCH_SUM(n) "vmovups 64+64*32+64*" #n "(%[frame]), %%zmm" #n "\n"
#define FETCH_FIRST(n) "vmovups 64+64*32+64*(" #n "&1)(%[frame]), %%zmm" #n "\n"
#define PUT_SUM(n) "vmovups %%zmm" #n ", 64+64*32+64*" #n "(%[frame])\n"

// A row's pair for all columns, times the pairs of the columns.
#define ROW(k, place, first, second) \
    "vpbroadcastd 4*" #k place ", %%zmm30\n" \
    "vdpbf16ps %%zmm30, %%zmm28, %%zmm" #first "\n" \
    "vdpbf16ps %%zmm30, %%zmm29, %%zmm" #second "\n"
#define PAIR(k) \
    "vmovups 64*" #k "(%[right]), %%zmm28\n" \
    "vmovups 64*" #k "(%[right],%[other]), %%zmm29\n" TILE_ROW_PLACES(k)

#define ADD_PRODUCTS(arguments) \
    do { \
        ulong row_, right_, other_, tap_, count_, a_, b_, c_, d_, e_; \
        __asm__ volatile( \
            TILE_REGISTERS(SAVE) \
            "cmpq $0, 2056(%[frame])\n je 4f\n" TILE_SUMS(FETCH_FIRST) "jmp 5f\n 4:\n" TILE_SUMS(FETCH_SUM) "5:\n" \
            "movq 8(%[frame]), %[right]\n movq 16(%[frame]), %[other]\n movq 24(%[frame]), %[row]\n" \
            "2:\n movq 48(%[frame]), %[tap]\n" \
            "1:\n movq (%[tap]), %[a]\n addq (%[frame]), %[a]\n" FIND_ROWS \
            PAIR(0) PAIR(1) PAIR(2) PAIR(3) \
            "movq 40(%[frame]), %[count]\n cmpq 2048(%[frame]), %[count]\n je 3f\n" \
            PAIR(4) PAIR(5) PAIR(6) PAIR(7) \
            "3:\n addq $512, %[right]\n addq $8, %[tap]\n cmpq 56(%[frame]), %[tap]\n jb 1b\n" \
            "movq 32(%[frame]), %[a]\n addq %[a], (%[frame])\n decq 40(%[frame])\n jnz 2b\n" \
            TILE_SUMS(PUT_SUM) TILE_REGISTERS(RESTORE) \
            : [row] "=&r"(row_), [right] "=&r"(right_), [other] "=&r"(other_), [tap] "=&r"(tap_), \
              [count] "=&r"(count_), [a] "=&r"(a_), [b] "=&r"(b_), [c] "=&r"(c_), [d] "=&r"(d_), [e] "=&r"(e_) \
            : [frame] "r"(arguments) \
            : "memory", "cc"); \
    } while (0)
#endif
