// Walking the tensors along six axes, outermost first, VECTOR elements (16 or 4) at a time (walk.py). Along the last
// axis the output is contiguous and an input is contiguous (pitch 1) or one value (pitch 0). A work-item computes a
// tile of ARG_ROWS x ARG_COLUMNS elements of the last two axes; the last vector of a row is moved back to end with it.
//   DECLARE_TILE          columns `begin` to `end` of the rows `first_row` to `last_row` at at_0, at_1, at_2, at_3
//   INDEX(T)              where T has the start of `row`
//   START(n)              declares the place at<n> of input n's row and same<n>, a vector of its first element
//   FETCH(n, i), FETCH_VECTOR(n, i)   the element, or the vector, of input n at i in the row
//   WIDE(T, COMPUTE)      the vector's type, and so on for LOAD and STORE
#ifndef ARG_ITEMS
#define ARG_ITEMS 1
#define ARG_ROWS 1
#define ARG_COLUMNS 16
#define ARG_ROW_TILES 1
#define ARG_COLUMN_TILES 1
#define INPUT0_PITCH_4 0
#define INPUT0_PITCH_5 1
#define INPUT1_PITCH_4 0
#define INPUT1_PITCH_5 1
#define INPUT2_PITCH_4 0
#define INPUT2_PITCH_5 0
#define INPUT3_PITCH_4 0
#define INPUT3_PITCH_5 0
#define INPUT4_PITCH_4 0
#define INPUT4_PITCH_5 0
#define OUTPUT0_SIZE_4 1
#define OUTPUT0_SIZE_5 16
#define OUTPUT0_PITCH_4 16
#endif

#if VECTOR == 16
#define WIDE(T, name) T##_##name##16
#else
#define WIDE(T, name) T##_##name##4
#endif

#define DECLARE_TILE \
    const index_t row_of_tiles = (index_t)get_global_id(0) / ARG_COLUMN_TILES, outer = row_of_tiles / ARG_ROW_TILES; \
    const index_t begin = (index_t)get_global_id(0) % ARG_COLUMN_TILES * ARG_COLUMNS; \
    const index_t end = min(begin + ARG_COLUMNS, OUTPUT0_SIZE_5); \
    const index_t first_row = row_of_tiles % ARG_ROW_TILES * ARG_ROWS; \
    const index_t last_row = min(first_row + ARG_ROWS, OUTPUT0_SIZE_4); \
    const index_t at_3 = outer % OUTPUT0_SIZE_3, at_2 = outer / OUTPUT0_SIZE_3 % OUTPUT0_SIZE_2; \
    const index_t at_1 = outer / OUTPUT0_SIZE_3 / OUTPUT0_SIZE_2 % OUTPUT0_SIZE_1; \
    const index_t at_0 = outer / OUTPUT0_SIZE_3 / OUTPUT0_SIZE_2 / OUTPUT0_SIZE_1;

#define INDEX(T) (T##_OFFSET + at_0 * T##_PITCH_0 + at_1 * T##_PITCH_1 + at_2 * T##_PITCH_2 + at_3 * T##_PITCH_3 \
                  + row * T##_PITCH_4)
#define START(n) \
    const index_t at##n = INDEX(INPUT##n); \
    const WIDE(INPUT##n, COMPUTE) same##n = (WIDE(INPUT##n, COMPUTE))(INPUT##n##_LOAD(input##n, at##n));

#define FETCH(n, i) INPUT##n##_LOAD(input##n, at##n + (i) * INPUT##n##_PITCH_5)
#define FETCH_VECTOR(n, i) (INPUT##n##_PITCH_5 ? WIDE(INPUT##n, LOAD)(input##n, at##n + (i)) : same##n)
