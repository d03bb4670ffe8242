// Rounds each element to one of LEVELS + 1 values between two bounds, VECTOR elements at a time, walked along
// six axes (eltwise/walk.py). Along the last axis the output is contiguous and an input is contiguous
// (pitch 1) or one value (pitch 0).
// One work-item computes a tile of ARG_ROWS x ARG_COLUMNS elements of the last two axes. The last vector of
// a row is moved back to end with it; only rows shorter than a vector are computed singly.
#include "clinfer.cl"

#ifndef LEVELS
#define LEVELS 255.0f
#define QUANTIZE(x, low, high, to_low, to_high) (x)
#define VECTOR 16
#define ARG_ITEMS 1
#define ARG_ROWS 1
#define ARG_COLUMNS 16
#define ARG_ROW_TILES 1
#define ARG_COLUMN_TILES 1
#define INPUT0_PITCH_4 0
#define INPUT0_PITCH_5 1
#define INPUT1_PITCH_4 0
#define INPUT1_PITCH_5 0
#define INPUT2_PITCH_4 0
#define INPUT2_PITCH_5 0
#define INPUT3_PITCH_4 0
#define INPUT3_PITCH_5 0
#define INPUT4_PITCH_4 0
#define INPUT4_PITCH_5 0
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

#define FETCH(n, i) INPUT##n##_LOAD(input##n, at##n + (i) * INPUT##n##_PITCH_5)
#define FETCH_VECTOR(n, i) (INPUT##n##_PITCH_5 ? WIDE(INPUT##n, LOAD)(input##n, at##n + (i)) : same##n)

#define INDEX(t) (t##_OFFSET + at_0 * t##_PITCH_0 + at_1 * t##_PITCH_1 + at_2 * t##_PITCH_2 + at_3 * t##_PITCH_3 \
                  + row * t##_PITCH_4)
#define START(n) \
    const int at##n = INDEX(INPUT##n); \
    const WIDE(INPUT##n, COMPUTE) same##n = (WIDE(INPUT##n, COMPUTE))(INPUT##n##_LOAD(input##n, at##n));

KERNEL(fake_quantize_vector)(const global INPUT0_TYPE* restrict input0, const global INPUT1_TYPE* restrict input1,
                             const global INPUT2_TYPE* restrict input2, const global INPUT3_TYPE* restrict input3,
                             const global INPUT4_TYPE* restrict input4, global OUTPUT0_TYPE* restrict output ARGS) {
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
        START(1)
        START(2)
        START(3)
        START(4)
        const int to = INDEX(OUTPUT0);
        if (end - begin >= VECTOR) {
            for (int i = begin; i < end; i += VECTOR) {
                i = min(i, end - VECTOR);
                const WIDE(INPUT0, COMPUTE) a = FETCH_VECTOR(0, i);
                const WIDE(INPUT0, COMPUTE) b = FETCH_VECTOR(1, i), c = FETCH_VECTOR(2, i);
                const WIDE(INPUT0, COMPUTE) d = FETCH_VECTOR(3, i), e = FETCH_VECTOR(4, i);
                WIDE(OUTPUT0, STORE)(output, to + i, QUANTIZE(a, b, c, d, e));
            }
        } else {
            for (int i = begin; i < end; ++i) {
                const INPUT0_COMPUTE a = FETCH(0, i), b = FETCH(1, i), c = FETCH(2, i);
                const INPUT0_COMPUTE d = FETCH(3, i), e = FETCH(4, i);
                OUTPUT0_STORE(output, to + i, QUANTIZE(a, b, c, d, e));
            }
        }
    }
}
