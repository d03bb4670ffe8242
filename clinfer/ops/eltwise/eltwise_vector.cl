// OPERATION on one to three inputs (a, b), VECTOR elements at a time, walked along six axes (walk.py).
// Along the last axis the output is contiguous and an input is contiguous (pitch 1) or one value (pitch 0).
// One work-item computes a tile of ARG_ROWS x ARG_COLUMNS elements of the last two axes. The last vector of
// a row is moved back to end with it; only rows shorter than a vector are computed singly.
// With IS_SELECT the first input is the condition c, the others a, b.
#include "clinfer.cl"

#ifndef OPERATION
#define OPERATION (a + b)
#define OPERANDS 2
#define IS_SELECT 0
#define VECTOR 16
#define ARG_ITEMS 1
#define ARG_ROWS 1
#define ARG_COLUMNS 16
#define ARG_ROW_TILES 1
#define ARG_COLUMN_TILES 1
#define INPUT0_PITCH_4 0
#define INPUT0_PITCH_5 1
#define INPUT1_PITCH_4 0
#define INPUT1_PITCH_5 1
#define OUTPUT0_SIZE_4 1
#define OUTPUT0_SIZE_5 16
#define OUTPUT0_PITCH_4 16
#define OUTPUT0_PITCH_5 1
#endif

#if VECTOR == 16
#define WIDE(t, name) t##_##name##16
#else
#define WIDE(t, name) t##_##name##4
#endif

#if IS_SELECT
#define VALUES INPUT1
#define OPERANDS_AT(fetch, i) const C c = fetch(0, i); const T a = fetch(1, i); const T b = fetch(2, i);
#elif OPERANDS > 1
#define VALUES INPUT0
#define OPERANDS_AT(fetch, i) const T a = fetch(0, i); const T b = fetch(1, i);
#else
#define VALUES INPUT0
#define OPERANDS_AT(fetch, i) const T a = fetch(0, i);
#endif
#define COMPUTE_OF(t, name) WIDE(t, name)

#define FETCH(n, i) INPUT##n##_LOAD(input##n, at##n + (i) * INPUT##n##_PITCH_5)
#define FETCH_VECTOR(n, i) (INPUT##n##_PITCH_5 ? WIDE(INPUT##n, LOAD)(input##n, at##n + (i)) : same##n)

#define INDEX(t) (t##_OFFSET + at_0 * t##_PITCH_0 + at_1 * t##_PITCH_1 + at_2 * t##_PITCH_2 + at_3 * t##_PITCH_3 \
                  + row * t##_PITCH_4)
#define START(n) \
    const int at##n = INDEX(INPUT##n); \
    const WIDE(INPUT##n, COMPUTE) same##n = (WIDE(INPUT##n, COMPUTE))(INPUT##n##_LOAD(input##n, at##n));

#define POWER_VECTOR(a, b) (all((b) == (T)(2)) ? (a) * (a) : pow(a, b))
#define POWER_SINGLE(a, b) pow(a, b)

KERNEL(eltwise_vector)(const global INPUT0_TYPE* restrict input0,
#if OPERANDS > 1
                       const global INPUT1_TYPE* restrict input1,
#endif
#if OPERANDS > 2
                       const global INPUT2_TYPE* restrict input2,
#endif
                       global OUTPUT0_TYPE* restrict output ARGS) {
    int item = get_global_id(0);
    if (item >= ARG_ITEMS) return;
    const int begin = item % ARG_COLUMN_TILES * ARG_COLUMNS, end = min(begin + ARG_COLUMNS, OUTPUT0_SIZE_5);
    item /= ARG_COLUMN_TILES;
    const int first_row = item % ARG_ROW_TILES * ARG_ROWS, last_row = min(first_row + ARG_ROWS, OUTPUT0_SIZE_4);
    item /= ARG_ROW_TILES;
    const int at_3 = item % OUTPUT0_SIZE_3;
    item /= OUTPUT0_SIZE_3;
    const int at_2 = item % OUTPUT0_SIZE_2;
    item /= OUTPUT0_SIZE_2;
    const int at_1 = item % OUTPUT0_SIZE_1, at_0 = item / OUTPUT0_SIZE_1;

    for (int row = first_row; row < last_row; ++row) {
        START(0)
#if OPERANDS > 1
        START(1)
#endif
#if OPERANDS > 2
        START(2)
#endif
        const int to = INDEX(OUTPUT0);
        if (end - begin >= VECTOR) {
#define T COMPUTE_OF(VALUES, COMPUTE)
#define C WIDE(INPUT0, COMPUTE)
#define POWER POWER_VECTOR
            for (int i = begin; i < end; i += VECTOR) {
                i = min(i, end - VECTOR);
                OPERANDS_AT(FETCH_VECTOR, i)
                WIDE(OUTPUT0, STORE)(output, to + i, OPERATION);
            }
#undef T
#undef C
#undef POWER
        } else {
#define T CLINFER_CAT(VALUES, COMPUTE)
#define C INPUT0_COMPUTE
#define POWER POWER_SINGLE
            for (int i = begin; i < end; ++i) {
                OPERANDS_AT(FETCH, i)
                OUTPUT0_STORE(output, to + i, OPERATION);
            }
        }
    }
}
