// Names of registers in tiles of TILE_ROWS rows x TILE_VECTORS (2) vectors of columns, in assembly for x86 CPUs: with
// vectors of 16 floats AVX-512's, for 1 to 14 rows, sums in registers 0 to 27, the columns' vectors in 28 and 29, a
// row's value in 30; with vectors of 8 AVX2's, for 1 to 6 rows, sums in 0 to 11, the columns' vectors in 12 and 13, a
// row's value in 14. Tiles of 3 vectors of 8 have 4 rows, the columns' vectors in 12 to 14, a row's value in 15.
//   VECTOR, VECTOR_BYTES                    what names of registers begin with, and the bytes of one
//   FIRST_COLUMNS, OTHER_COLUMNS, ROW_VALUE  the registers that hold no sums; of 3 vectors the last in THIRD_COLUMNS
//   TILE_SUMS(each), TILE_REGISTERS(each)   each(n) for the registers of sums, or for all that are used
//   TILE_ROW_PLACES(k)                      ROW(k, place, first, second) for each row: where it lies, and its sums,
//                                           of which ROW(k, place, first, second, third) has three
//   FIND_ROWS                               makes [a] to [e], of which these places are told, from the first row's [a]
//                                           and the distance of rows [row]; without ROWS_BY_PITCH [a] to [f], see there
//   MOVE_ROWS(n)                            with ROWS_BY_PITCH, lets them all be so many bytes further
//   PARTS(TO, n), PARTS(FROM, n)            PART(k) for each value k of a step of 16 before n, or from n on
// ROWS_BY_PITCH: rows lie at one distance from each other, as vectors of 16 floats have it unless told otherwise.
#ifndef VECTOR_FLOATS
#define VECTOR_FLOATS 16
#endif
#ifndef TILE_VECTORS
#define TILE_VECTORS 2
#endif
#ifndef ROWS_BY_PITCH
#define ROWS_BY_PITCH (VECTOR_FLOATS == 16)
#endif
#if VECTOR_FLOATS == 16
#define VECTOR "%%zmm"
#define VECTOR_BYTES "64"
#define FIRST_COLUMNS "%%zmm28"
#define OTHER_COLUMNS "%%zmm29"
#define ROW_VALUE "%%zmm30"
#define OTHER_REGISTERS(each) each(28) each(29) each(30)
#else
#define VECTOR "%%ymm"
#define VECTOR_BYTES "32"
#define FIRST_COLUMNS "%%ymm12"
#define OTHER_COLUMNS "%%ymm13"
#if TILE_VECTORS == 2
#define ROW_VALUE "%%ymm14"
#define OTHER_REGISTERS(each) each(12) each(13) each(14)
#else
#define THIRD_COLUMNS "%%ymm14"
#define ROW_VALUE "%%ymm15"
#define OTHER_REGISTERS(each) each(12) each(13) each(14) each(15)
#endif
#endif

// The rows of which these tell, fewer where smaller tiles are made besides (ops/matmul/float_rows.h).
#define PRODUCT_ROWS TILE_ROWS

#define SUMS_1(each) each(0) each(1)
#define SUMS_2(each) SUMS_1(each) each(2) each(3)
#define SUMS_3(each) SUMS_2(each) each(4) each(5)
#define SUMS_4(each) SUMS_3(each) each(6) each(7)
#define SUMS_5(each) SUMS_4(each) each(8) each(9)
#define SUMS_6(each) SUMS_5(each) each(10) each(11)
#define SUMS_7(each) SUMS_6(each) each(12) each(13)
#define SUMS_8(each) SUMS_7(each) each(14) each(15)
#define SUMS_9(each) SUMS_8(each) each(16) each(17)
#define SUMS_10(each) SUMS_9(each) each(18) each(19)
#define SUMS_11(each) SUMS_10(each) each(20) each(21)
#define SUMS_12(each) SUMS_11(each) each(22) each(23)
#define SUMS_13(each) SUMS_12(each) each(24) each(25)
#define SUMS_14(each) SUMS_13(each) each(26) each(27)
#if TILE_VECTORS == 2
#define TILE_SUMS(each) CLINFER_CAT(SUMS, PRODUCT_ROWS)(each)
#else
#define TILE_SUMS(each) SUMS_6(each)
#endif
#define TILE_REGISTERS(each) TILE_SUMS(each) OTHER_REGISTERS(each)

#if ROWS_BY_PITCH
#define ROWS_1(k) ROW(k, "(%[a])", 0, 1)
#define ROWS_2(k) ROWS_1(k) ROW(k, "(%[a],%[row])", 2, 3)
#define ROWS_3(k) ROWS_2(k) ROW(k, "(%[a],%[row],2)", 4, 5)
#define ROWS_4(k) ROWS_3(k) ROW(k, "(%[b])", 6, 7)
#define ROWS_5(k) ROWS_4(k) ROW(k, "(%[b],%[row])", 8, 9)
#define ROWS_6(k) ROWS_5(k) ROW(k, "(%[b],%[row],2)", 10, 11)
#define ROWS_7(k) ROWS_6(k) ROW(k, "(%[c])", 12, 13)
#define ROWS_8(k) ROWS_7(k) ROW(k, "(%[c],%[row])", 14, 15)
#define ROWS_9(k) ROWS_8(k) ROW(k, "(%[c],%[row],2)", 16, 17)
#define ROWS_10(k) ROWS_9(k) ROW(k, "(%[d])", 18, 19)
#define ROWS_11(k) ROWS_10(k) ROW(k, "(%[d],%[row])", 20, 21)
#define ROWS_12(k) ROWS_11(k) ROW(k, "(%[d],%[row],2)", 22, 23)
#define ROWS_13(k) ROWS_12(k) ROW(k, "(%[e])", 24, 25)
#define ROWS_14(k) ROWS_13(k) ROW(k, "(%[e],%[row])", 26, 27)

#if VECTOR_FLOATS == 16
#define FIND_ROWS \
    "leaq (%[row],%[row],2), %[e]\n leaq (%[a],%[e]), %[b]\n leaq (%[b],%[e]), %[c]\n leaq (%[c],%[e]), %[d]\n" \
    "addq %[d], %[e]\n"
#define MOVE_ROWS(n) \
    "addq $" #n ", %[a]\n addq $" #n ", %[b]\n addq $" #n ", %[c]\n addq $" #n ", %[d]\n addq $" #n ", %[e]\n"
#else
#define FIND_ROWS "leaq (%[row],%[row],2), %[b]\n addq %[a], %[b]\n"
#define MOVE_ROWS(n) "addq $" #n ", %[a]\n addq $" #n ", %[b]\n"
#endif
#else
#define ROWS_1(k) ROW(k, "(%[a])", 0, 1)
#define ROWS_2(k) ROWS_1(k) ROW(k, "(%[b])", 2, 3)
#define ROWS_3(k) ROWS_2(k) ROW(k, "(%[c])", 4, 5)
#define ROWS_4(k) ROWS_3(k) ROW(k, "(%[d])", 6, 7)
#define ROWS_5(k) ROWS_4(k) ROW(k, "(%[e])", 8, 9)
#define ROWS_6(k) ROWS_5(k) ROW(k, "(%[f])", 10, 11)

// A row lies as far behind [base] as its number at [tap] tells; a negative one says that it lies at [zeros].
#define FIND_ROW(name, n) \
    "movq 8*" #n "(%[tap]), %[" name "]\n testq %[" name "], %[" name "]\n" \
    "leaq (%[" name "],%[base]), %[" name "]\n cmovs %[zeros], %[" name "]\n"
#define FINDS_1 FIND_ROW("a", 0)
#define FINDS_2 FINDS_1 FIND_ROW("b", 1)
#define FINDS_3 FINDS_2 FIND_ROW("c", 2)
#define FINDS_4 FINDS_3 FIND_ROW("d", 3)
#define FINDS_5 FINDS_4 FIND_ROW("e", 4)
#define FINDS_6 FINDS_5 FIND_ROW("f", 5)
#define FIND_ROWS CLINFER_CAT(FINDS, TILE_ROWS)
#define ASK_ROW(name) "prefetcht0 (%[" name "],%[base])\n"
#define ASKS_1 ASK_ROW("a")
#define ASKS_2 ASKS_1 ASK_ROW("b")
#define ASKS_3 ASKS_2 ASK_ROW("c")
#define ASKS_4 ASKS_3 ASK_ROW("d")
#define ASKS_5 ASKS_4 ASK_ROW("e")
#define ASKS_6 ASKS_5 ASK_ROW("f")
// Asks for all rows [base] bytes further.
#define ASK_FOR_ROWS CLINFER_CAT(ASKS, TILE_ROWS)
#endif
#if TILE_VECTORS == 2
#define TILE_ROW_PLACES(k) CLINFER_CAT(ROWS, PRODUCT_ROWS)(k)
#else
#define TILE_ROW_PLACES(k) \
    ROW(k, "(%[a])", 0, 1, 2) ROW(k, "(%[b])", 3, 4, 5) ROW(k, "(%[c])", 6, 7, 8) ROW(k, "(%[d])", 9, 10, 11)
#endif

#define PARTS_TO_1 PART(0)
#define PARTS_TO_2 PARTS_TO_1 PART(1)
#define PARTS_TO_3 PARTS_TO_2 PART(2)
#define PARTS_TO_4 PARTS_TO_3 PART(3)
#define PARTS_TO_5 PARTS_TO_4 PART(4)
#define PARTS_TO_6 PARTS_TO_5 PART(5)
#define PARTS_TO_7 PARTS_TO_6 PART(6)
#define PARTS_TO_8 PARTS_TO_7 PART(7)
#define PARTS_TO_9 PARTS_TO_8 PART(8)
#define PARTS_TO_10 PARTS_TO_9 PART(9)
#define PARTS_TO_11 PARTS_TO_10 PART(10)
#define PARTS_TO_12 PARTS_TO_11 PART(11)
#define PARTS_TO_13 PARTS_TO_12 PART(12)
#define PARTS_TO_14 PARTS_TO_13 PART(13)
#define PARTS_TO_15 PARTS_TO_14 PART(14)
#define PARTS_FROM_15 PART(15)
#define PARTS_FROM_14 PART(14) PARTS_FROM_15
#define PARTS_FROM_13 PART(13) PARTS_FROM_14
#define PARTS_FROM_12 PART(12) PARTS_FROM_13
#define PARTS_FROM_11 PART(11) PARTS_FROM_12
#define PARTS_FROM_10 PART(10) PARTS_FROM_11
#define PARTS_FROM_9 PART(9) PARTS_FROM_10
#define PARTS_FROM_8 PART(8) PARTS_FROM_9
#define PARTS_FROM_7 PART(7) PARTS_FROM_8
#define PARTS_FROM_6 PART(6) PARTS_FROM_7
#define PARTS_FROM_5 PART(5) PARTS_FROM_6
#define PARTS_FROM_4 PART(4) PARTS_FROM_5
#define PARTS_FROM_3 PART(3) PARTS_FROM_4
#define PARTS_FROM_2 PART(2) PARTS_FROM_3
#define PARTS_FROM_1 PART(1) PARTS_FROM_2
#define PARTS_(side, n) PARTS_##side##_##n
#define PARTS(side, n) PARTS_(side, n)
