// Tiles of TILE_ROWS rows (1 to 14, 16 or 32) x 32 columns whose sums grow by products of bf16 pairs, on x86 CPUs: by
// `vdpbf16ps`, of 16 and 32 rows in AMX's tile registers; or, with TILES_OF_FLOATS, by products of floats in up to 14
// rows, and with VECTOR_FLOATS 8 in up to 6 rows x 16 columns, or with TILE_VECTORS 3 in 4 rows x 24.
//
// ADD_PRODUCTS(frame) is one block of assembly that holds the whole loop. No compiler is told of the vector
// registers that it uses (one rejects such operands and clobbers): it saves them first and restores them last, so that
// whatever a compiler keeps in them survives. Its arguments are a FRAME, ulong[FRAME_WORDS], the addresses as numbers:
//   LEFT_AT        the values of the first row; the 16 of a step lie together
//   ROW_BYTES      from one row to the next
//   STEP_BYTES     from one step of 16 values to the next
//   STEP_COUNT     how many steps there are, 1 at least; with STEPS_ARE_WIDE, of more than 14 rows alone, steps are of
//                  32 values, whose 16 pairs lie together on both sides
//   HALF_AT        the value of STEP_COUNT, which is counted down, at which the second half of a step is left out: 1
//                  for the last one, 0 for none. STEPS_HALVE tells whether tiles do that. Of floats all but LAST_VALUES
//                  are left out, which is a half unless it is defined as another number from 1 to 15
//   FIRST_BEGINS   not 0: the sums of every row begin with what those of the first row are
//   TAPS_AT        up to TAPS_END: an array of ulong; in each step, rows are read at each of these distances (bytes).
//                  With VECTOR_FLOATS 8 there is no ROW_BYTES: here are the distances of all TILE_ROWS rows from
//                  LEFT_AT, for each time that rows are read; -1 stands for the row that begins at ZEROS of the frame
//   RIGHT_AT       16 columns: for each step and tap, 8 pairs of values x 16 columns x 2 values, or 16 floats x 16
//                  columns, one behind another; with PANELS_JOINED 16 floats x 32 columns, these 16 and the other
//   OTHER_BYTES    from these columns to the other 16 or, of 24, to the other 8; 16 alone have no others
//   LATER_AT       with VECTOR_FLOATS 8, and where ASKS_FOR_MORE is 1: what will be multiplied much later; each step
//                  and tap asks for LATER_BYTES from here on, two lines of the cache (64 bytes)
//   MORE_LATER     where ASKS_FOR_MORE is 1: of how many lines more, an even number
//   LEFT_OUT       where LEAVES_TAPS_OUT is 1, with VECTOR_FLOATS 8: bytes of columns from each step's last tap to the
//                  next step's first
// and it adds to frame_sums(frame): float [TILE_ROWS][TILE_VECTORS * VECTOR_FLOATS]. LEFT_AT, RIGHT_AT and STEP_COUNT
// are changed.
// Products of two bf16 are exact and summed in float; subnormal numbers count as 0.
// SET_TAP(taps, place, row_bytes, last) sets the TAP_NUMBERS numbers of rows that lie `row_bytes` from each other, the
// first of them at `place`; with VECTOR_FLOATS 8 row `last` stands in for those behind it. READ_ONCE(frame, taps,
// row_bytes, last) sets what the frame tells of such rows, which are read at LEFT_AT alone.
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
#define STEP_DEPTH 16
#ifndef VECTOR_FLOATS
#define VECTOR_FLOATS 16
#endif
#ifndef TILE_VECTORS
#define TILE_VECTORS 2
#endif
#define FRAME_WORDS (8 + 8 * 32 + TILE_VECTORS * VECTOR_FLOATS / 2 * TILE_ROWS)
#define TAP_NUMBERS (VECTOR_FLOATS == 8 ? TILE_ROWS : 1)
#define ZEROS 248
#define LATER_AT 258
#define MORE_LATER 259
#define LEFT_OUT 260
#define LATER_BYTES 128
// Vectors in it must not lie across lines of the cache.
#define FRAME(name) ulong name[FRAME_WORDS] __attribute__((aligned(64))); BEGIN_FRAME(name)
// BEGIN_FRAME(frame) begins one that is declared otherwise. Frames that take turns SHARE_SHAPES(frame, with), and a
// kernel ends with END_TILES(): AMX's tile registers keep their shapes from one tile to the next.
// ROWS_HELD of their frame is how many rows there are, by default all: those behind are not read, and their sums stay.
#if TILE_ROWS > 14
#define SHAPES_AT 18
#define ROWS_HELD 20
#define BEGIN_FRAME(frame) \
    ((frame)[SHAPES_AT] = (ulong)((frame) + SHAPES_AT + 1), (frame)[SHAPES_AT + 1] = 0, (frame)[ROWS_HELD] = TILE_ROWS)
#define SHARE_SHAPES(frame, with) ((frame)[SHAPES_AT] = (with)[SHAPES_AT])
#define END_TILES() __asm__ volatile("tilerelease" ::: "memory")
#else
#define BEGIN_FRAME(frame)
#define SHARE_SHAPES(frame, with)
#define END_TILES()
#endif
#define frame_sums(frame) ((float*)((frame) + 8 + 8 * 32))

#define STEPS_HALVE (TILE_ROWS <= 14)
#ifndef STEPS_ARE_WIDE
#define STEPS_ARE_WIDE 0
#endif

// Tiles that multiply the same columns ask for those that come next, each for a share, because the first tile that
// meets them would wait for all of them: weights come from afar at each inference. A step multiplies STEP_LINES lines,
// and asks for two of as many; where there are fewer tiles than that takes, for MORE_LATER besides.
#ifndef ASKS_FOR_MORE
#define ASKS_FOR_MORE 0
#endif
#ifndef LEAVES_TAPS_OUT
#define LEAVES_TAPS_OUT 0
#endif
#define STEP_LINES (VECTOR_FLOATS == 16 && TILES_OF_FLOATS ? 32 : 16)
#define LATER_SHARES(tiles) clamp((uint)(tiles), 1u, (uint)(STEP_LINES / 2))
#define LINES_OF_SHARE(shares) ((STEP_LINES / 2 + (shares) - 1) / (shares) * 2)

#define SET_TAP(taps, place, row_bytes, last) \
    do { \
        _Pragma("unroll") \
        for (int i_ = 0; i_ < TAP_NUMBERS; ++i_) (taps)[i_] = (place) + min(i_, (int)(last)) * (row_bytes); \
    } while (0)
#define READ_ONCE(frame, taps, row_bytes, last) \
    do { \
        (frame)[ROW_BYTES] = row_bytes; \
        (frame)[TAPS_AT] = (ulong)(taps); \
        (frame)[TAPS_END] = (ulong)((taps) + TAP_NUMBERS); \
        SET_TAP(taps, 0, row_bytes, last); \
    } while (0)

#ifndef TILES_OF_FLOATS
#define TILES_OF_FLOATS 0
#define PANELS_JOINED 0
#endif
//   TILE_VALUE, TILE_VALUE16     the type of values, and of 16
//   TO_TILE_VALUE16, OF_TILE_VALUE16   from floats, and to floats
//   TILE_MASK16(lanes)           a comparison of 16 ints as `select` takes it for values
#if TILES_OF_FLOATS
#define TILE_VALUE float
#define TILE_VALUE16 float16
#define TILE_MASK16(lanes) (lanes)
#define TO_TILE_VALUE16(v) (v)
#define OF_TILE_VALUE16(v) (v)
#else
#define TILE_VALUE ushort
#define TILE_VALUE16 ushort16
#define TILE_MASK16(lanes) convert_short16(lanes)
#define TO_TILE_VALUE16(v) clinfer_to_bf16_16(v)
#define OF_TILE_VALUE16(v) as_float16(convert_uint16(v) << 16)
#endif
#if PANELS_JOINED
#define PART_BYTES "128"
#define STEP_WEIGHT_BYTES "2048"
#elif TILES_OF_FLOATS
#define PART_BYTES "64"
#define STEP_WEIGHT_BYTES "1024"
#else
#define PART_BYTES "64"
#define STEP_WEIGHT_BYTES "512"
#endif

#if TILE_ROWS > 14
// Registers: sums 0 to 3 (16 rows x 16 columns each), rows 4 and 5, columns 6 and 7. No compiler holds anything in
// them. Where rows are read at one distance, and their steps lie one behind another, two steps are multiplied at once.
#define STEP_WEIGHTS 512
// Of the frame: the bytes from the first row to the first of those in register 5, which has one row at least.
#define LOWER_ROWS 21

#if TILE_ROWS == 32
#define OF_32_ROWS(text) text
#else
#define OF_32_ROWS(text)
#endif

#define MOVE_SUMS(move) \
    move("(%[a],%[b])", "0") move("64(%[a],%[b])", "1") \
    OF_32_ROWS("addq %[next], %[a]\n" move("(%[a],%[b])", "2") move("64(%[a],%[b])", "3"))
#define LOAD_TILE(place, n) "tileloadd " place ", %%tmm" n "\n"
#define STORE_TILE(place, n) "tilestored %%tmm" n ", " place "\n"
// Columns that are multiplied two wide steps later, which come from the second cache.
#define ASK(n) "prefetcht0 2048+64*" #n "(%[right])\n prefetcht0 2048+64*" #n "(%[b])\n"
#define ASK_FOR_LATER \
    ASK(0) ASK(1) ASK(2) ASK(3) ASK(4) ASK(5) ASK(6) ASK(7) \
    ASK(8) ASK(9) ASK(10) ASK(11) ASK(12) ASK(13) ASK(14) ASK(15)

// Adds the products of STEP_COUNT times `depth` steps of 16 values (1 or 2), that lie `step_bytes` from each other;
// `first`: all sums begin with the first row's, which a tile that is loaded with rows 0 bytes apart has in all rows.
INLINED void FUNC(add_tile_steps)(ulong* frame, const ulong depth, const ulong step_bytes, const bool first) {
    // The shapes of the registers: a palette, 16 sizes of rows in bytes, 16 numbers of rows, of which none may be 0. To
    // set them takes as long as several steps.
    ulong* shapes = (ulong*)frame[SHAPES_AT];
    const ulong rows = frame[ROWS_HELD], upper = min(rows, (ulong)16), lower = rows > 16 ? rows - 16 : 1;
    if (*shapes != (depth | rows << 8)) {
        frame[8] = 1, frame[9] = 0, frame[10] = 0x0040004000400040, frame[11] = 0x0040004000000000 | depth * 0x00200020;
        frame[12] = frame[13] = frame[15] = 0;
        frame[14] = upper * 0x100000101 | lower * 0x10001010000 | depth << 51 | depth << 59;
        __asm__ volatile("ldtilecfg 64(%[frame])" : : [frame] "r"(frame) : "memory");
        *shapes = depth | rows << 8;
    }
    frame[16] = depth * STEP_WEIGHTS, frame[17] = step_bytes, frame[LOWER_ROWS] = rows > 16 ? 16 * frame[ROW_BYTES] : 0;
    ulong row, right, other, tap, a, b, next, pitch = 64;
    const ulong sums_pitch = first ? 0 : 128;
    __asm__ volatile(
        "leaq 2112(%[frame]), %[a]\n movq %[sums_pitch], %[b]\n"
        OF_32_ROWS("movq %[b], %[next]\n shlq $4, %[next]\n") MOVE_SUMS(LOAD_TILE)
        "movq 8(%[frame]), %[right]\n movq 16(%[frame]), %[other]\n movq 24(%[frame]), %[row]\n"
        "movq 128(%[frame]), %[next]\n"
        "2:\n movq 48(%[frame]), %[tap]\n"
        "1:\n movq (%[tap]), %[a]\n addq (%[frame]), %[a]\n leaq (%[right],%[other]), %[b]\n"
        LOAD_TILE("(%[a],%[row])", "4") LOAD_TILE("(%[right],%[pitch])", "6") LOAD_TILE("(%[b],%[pitch])", "7")
        ASK_FOR_LATER
        OF_32_ROWS("addq 168(%[frame]), %[a]\n" LOAD_TILE("(%[a],%[row])", "5"))
        "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n"
        OF_32_ROWS("tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n tdpbf16ps %%tmm7, %%tmm5, %%tmm3\n")
        "addq %[next], %[right]\n addq $8, %[tap]\n cmpq 56(%[frame]), %[tap]\n jb 1b\n"
        "movq 136(%[frame]), %[a]\n addq %[a], (%[frame])\n decq 40(%[frame])\n jnz 2b\n"
        "leaq 2112(%[frame]), %[a]\n movq $128, %[b]\n" OF_32_ROWS("movq $2048, %[next]\n") MOVE_SUMS(STORE_TILE)
        "movq %[right], 8(%[frame])\n"
        : [row] "=&r"(row), [right] "=&r"(right), [other] "=&r"(other), [tap] "=&r"(tap), [a] "=&r"(a), [b] "=&r"(b),
          [next] "=&r"(next)
        : [frame] "r"(frame), [pitch] "r"(pitch), [sums_pitch] "r"(sums_pitch)
        : "memory", "cc");
}

INLINED void FUNC(add_tile_products)(ulong* frame) {
    bool first = frame[FIRST_BEGINS] != 0;
#if STEPS_ARE_WIDE
    FUNC(add_tile_steps)(frame, 2, frame[STEP_BYTES], first);
#else
    const ulong steps = frame[STEP_COUNT];
    const bool has_one_tap = frame[TAPS_END] - frame[TAPS_AT] == sizeof(ulong);
    const bool is_run = has_one_tap && frame[STEP_BYTES] == STEP_DEPTH * sizeof(ushort);
    if (is_run && steps > 1) {
        frame[STEP_COUNT] = steps / 2;
        FUNC(add_tile_steps)(frame, 2, 2 * frame[STEP_BYTES], first);
        frame[STEP_COUNT] = steps % 2;
        first = false;
    }
    if (frame[STEP_COUNT]) FUNC(add_tile_steps)(frame, 1, frame[STEP_BYTES], first);
#endif
}

#define ADD_PRODUCTS(frame) FUNC(add_tile_products)(frame)
#else
#include "shared/vector_tiles.h"

#define SAVE(n) "vmovups " VECTOR #n ", 64+64*" #n "(%[frame])\n"
#define RESTORE(n) "vmovups 64+64*" #n "(%[frame]), " VECTOR #n "\n"
#define FETCH_SUM(n) "vmovups 64+64*32+" VECTOR_BYTES "*" #n "(%[frame]), " VECTOR #n "\n"
#if TILE_VECTORS == 2
#define FETCH_FIRST(n) "vmovups 64+64*32+" VECTOR_BYTES "*(" #n "&1)(%[frame]), " VECTOR #n "\n"
#define FETCH_FIRSTS TILE_SUMS(FETCH_FIRST)
#else
#define REPEAT_SUM(n, to) "vmovaps " VECTOR #n ", " VECTOR #to "\n"
#define FETCH_FIRSTS \
    FETCH_SUM(0) FETCH_SUM(1) FETCH_SUM(2) REPEAT_SUM(0, 3) REPEAT_SUM(1, 4) REPEAT_SUM(2, 5) \
    REPEAT_SUM(0, 6) REPEAT_SUM(1, 7) REPEAT_SUM(2, 8) REPEAT_SUM(0, 9) REPEAT_SUM(1, 10) REPEAT_SUM(2, 11)
#endif
#define PUT_SUM(n) "vmovups " VECTOR #n ", 64+64*32+" VECTOR_BYTES "*" #n "(%[frame])\n"

// A row's pair or value for all columns, times those of the columns. What is multiplied FETCHED bytes later is asked
// for, because weights that come for the first time come from afar.
#define FETCHED "3072+"
#if VECTOR_FLOATS == 16
#define OTHER_PART(k) PART_BYTES "*" #k "(%[right],%[other])"
#define FETCH_OTHER(k) "prefetcht0 " FETCHED OTHER_PART(k) "\n"
#else
#define OTHER_PART(k) "32+" PART_BYTES "*" #k "(%[right])"
#define FETCH_OTHER(k)
#endif
#if TILES_OF_FLOATS
#define MULTIPLY_ADD "vfmadd231ps"
#ifndef LAST_VALUES
#define LAST_VALUES 8
#endif
#define FIRST_PARTS PARTS(TO, LAST_VALUES)
#define OTHER_PARTS PARTS(FROM, LAST_VALUES)
#else
#define MULTIPLY_ADD "vdpbf16ps"
#define FIRST_PARTS PARTS_TO_4
#define OTHER_PARTS PART(4) PART(5) PART(6) PART(7)
#endif
#define MULTIPLY(columns, sum) MULTIPLY_ADD " " ROW_VALUE ", " columns ", " VECTOR #sum "\n"
#define ROW_OF_TWO(k, place, first, second) \
    "vpbroadcastd 4*" #k place ", " ROW_VALUE "\n" MULTIPLY(FIRST_COLUMNS, first) MULTIPLY(OTHER_COLUMNS, second)
#if TILE_VECTORS == 2
#define ROW ROW_OF_TWO
#define FETCH_THIRD(k)
#else
// [e] tells how far behind [right] the last columns lie: four rows do without it.
#define ROW(k, place, first, second, third) ROW_OF_TWO(k, place, first, second) MULTIPLY(THIRD_COLUMNS, third)
#define FETCH_THIRD(k) \
    "prefetcht0 " FETCHED PART_BYTES "*" #k "(%[right],%[e])\n" \
    "vmovups " PART_BYTES "*" #k "(%[right],%[e]), " THIRD_COLUMNS "\n"
#endif
#define PART(k) \
    "prefetcht0 " FETCHED PART_BYTES "*" #k "(%[right])\n" FETCH_OTHER(k) \
    "vmovups " PART_BYTES "*" #k "(%[right]), " FIRST_COLUMNS "\n" \
    "vmovups " OTHER_PART(k) ", " OTHER_COLUMNS "\n" FETCH_THIRD(k) TILE_ROW_PLACES(k)

// The other operands of the assembly, and what comes before the products of a step.
#define TEXT_OF_(n) #n
#define TEXT_OF(n) TEXT_OF_(n)
#if VECTOR_FLOATS == 16
#define COUNT "%[count]"
#define TAP_BYTES "8"
#if ASKS_FOR_MORE
#define ROW_OPERANDS [row] "=&r"(row_), [other] "=&r"(other_), [count] "=&r"(count_), [later] "=&r"(later_)
#define FIND_LATER "movq 2064(%[frame]), %[later]\n"
#define ASK_FOR_LATER ASK_FOR_TWO ASK_FOR_MORE
#else
#define ROW_OPERANDS [row] "=&r"(row_), [other] "=&r"(other_), [count] "=&r"(count_)
#define FIND_LATER
#define ASK_FOR_LATER
#endif
#define BEGIN_ROWS "movq 16(%[frame]), %[other]\n movq 24(%[frame]), %[row]\n" FIND_LATER
#define BEGIN_STEP "movq (%[tap]), %[a]\n addq (%[frame]), %[a]\n" FIND_ROWS ASK_FOR_LATER
#else
#define ROW_OPERANDS [f] "=&r"(row_), [base] "=&r"(other_), [zeros] "=&r"(count_), [later] "=&r"(later_)
#if TILE_VECTORS == 2
#define FIND_THIRD
#else
#define FIND_THIRD "movq 16(%[frame]), %[e]\n"
#endif
#define BEGIN_ROWS "leaq 1984(%[frame]), %[zeros]\n movq 2064(%[frame]), %[later]\n" FIND_THIRD
// The rows of the next step are asked for as well.
#define BEGIN_STEP \
    "movq (%[frame]), %[base]\n" FIND_ROWS "movq 32(%[frame]), %[base]\n" ASK_FOR_ROWS ASK_FOR_TWO ASK_FOR_MORE
#define TAP_BYTES "8*" TEXT_OF(TILE_ROWS)
#if LEAVES_TAPS_OUT
#define PASS_TAPS "addq 2080(%[frame]), %[right]\n"
#endif
#define COUNT "%[base]"
#endif

#define ASK_FOR_TWO "prefetcht1 (%[later])\n prefetcht1 64(%[later])\n subq $-128, %[later]\n"
#if ASKS_FOR_MORE
#define ASK_FOR_MORE "movq 2072(%[frame]), " COUNT "\n testq " COUNT ", " COUNT "\n jnz 8f\n 9:\n"
#define THAT_ASKS_FOR_MORE \
    "jmp 7f\n 8:\n" ASK_FOR_TWO "subq $2, " COUNT "\n jnz 8b\n jmp 9b\n 7:\n"
#else
#define ASK_FOR_MORE
#define THAT_ASKS_FOR_MORE
#endif

#ifndef PASS_TAPS
#define PASS_TAPS
#endif

#define ADD_PRODUCTS(arguments) \
    do { \
        ulong row_, right_, other_, tap_, count_, later_, a_, b_, c_, d_, e_; \
        __asm__ volatile( \
            TILE_REGISTERS(SAVE) \
            "cmpq $0, 2056(%[frame])\n je 4f\n" FETCH_FIRSTS "jmp 5f\n 4:\n" TILE_SUMS(FETCH_SUM) "5:\n" \
            "movq 8(%[frame]), %[right]\n" BEGIN_ROWS \
            "2:\n movq 48(%[frame]), %[tap]\n" \
            "1:\n" BEGIN_STEP FIRST_PARTS \
            "movq 40(%[frame]), " COUNT "\n cmpq 2048(%[frame]), " COUNT "\n je 3f\n" \
            OTHER_PARTS \
            "3:\n addq $" STEP_WEIGHT_BYTES ", %[right]\n addq $" TAP_BYTES ", %[tap]\n" \
            "cmpq 56(%[frame]), %[tap]\n jb 1b\n" \
            PASS_TAPS "movq 32(%[frame]), %[a]\n addq %[a], (%[frame])\n decq 40(%[frame])\n jnz 2b\n" \
            TILE_SUMS(PUT_SUM) TILE_REGISTERS(RESTORE) THAT_ASKS_FOR_MORE \
            : ROW_OPERANDS, [right] "=&r"(right_), [tap] "=&r"(tap_), \
              [a] "=&r"(a_), [b] "=&r"(b_), [c] "=&r"(c_), [d] "=&r"(d_), [e] "=&r"(e_) \
            : [frame] "r"(arguments) \
            : "memory", "cc"); \
    } while (0)
#endif
