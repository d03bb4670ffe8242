// Names of registers in tiles of TILE_ROWS rows (1 to 14) x 2 vectors of columns, in assembly of AVX-512 for x86 CPUs:
// sums in registers 0 to 27, the columns' vectors in 28 and 29, a row's value in 30.
//   TILE_SUMS(each), TILE_REGISTERS(each)   each(n) for the registers of sums, or for all that are used
//   TILE_ROW_PLACES(k)                      ROW(k, place, first, second) for each row: where it lies, and its sums
//   FIND_ROWS                               makes [a] to [e], of which these places are told, from the first row's [a]
//                                           and the distance of rows [row]
//   MOVE_ROWS(n)                            lets them all be so many bytes further
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
#define TILE_SUMS(each) CLINFER_CAT(SUMS, TILE_ROWS)(each)
#define TILE_REGISTERS(each) TILE_SUMS(each) each(28) each(29) each(30)

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
#define TILE_ROW_PLACES(k) CLINFER_CAT(ROWS, TILE_ROWS)(k)

#define FIND_ROWS \
    "leaq (%[row],%[row],2), %[e]\n leaq (%[a],%[e]), %[b]\n leaq (%[b],%[e]), %[c]\n leaq (%[c],%[e]), %[d]\n" \
    "addq %[d], %[e]\n"
#define MOVE_ROWS(n) \
    "addq $" #n ", %[a]\n addq $" #n ", %[b]\n addq $" #n ", %[c]\n addq $" #n ", %[d]\n addq $" #n ", %[e]\n"
