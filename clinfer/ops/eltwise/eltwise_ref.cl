// OPERATION on one to three inputs, any layout, rank and type; inputs are views broadcast to the output.
// One work-item computes one element. With IS_SELECT the first input is the condition c, the others a, b.
#include "clinfer.cl"

#ifndef OPERATION
#define OPERATION (a + b)
#define OPERANDS 2
#define IS_SELECT 0
#endif

#define C INPUT0_COMPUTE
#if IS_SELECT
#define T INPUT1_COMPUTE
#else
#define T INPUT0_COMPUTE
#endif

// Not left to the device: it may trap where an integer is divided by 0 or the least one by -1.
T FUNC(divide)(T a, T b) {
    return b == 0 ? 0 : b < 0 && b == (T)(-1) ? (T)(0) - a : a / b;
}

T FUNC(floor_divide)(T a, T b) {
    const T quotient = FUNC(divide)(a, b);
    return (a < 0) != (b < 0) && b != 0 && quotient * b != a ? quotient - 1 : quotient;
}

// The quotient is truncated where b is negative.
T FUNC(integer_power)(T a, T b) {
    const bool is_odd = b - b / 2 * 2 != 0;
    if (b < 0) return a == 1 ? 1 : a < 0 && a == (T)(-1) ? (is_odd ? (T)(-1) : 1) : 0;
    T result = 1;
    for (; b > 0; b /= 2, a *= a)
        if (b - b / 2 * 2 != 0) result *= a;
    return result;
}

#define DIVIDE(a, b) FUNC(divide)(a, b)
#define FLOOR_DIVIDE(a, b) FUNC(floor_divide)(a, b)
#define INTEGER_POWER(a, b) FUNC(integer_power)(a, b)
#define POWER(a, b) pow(a, b)

KERNEL(eltwise_ref)(const global INPUT0_TYPE* restrict input0,
#if OPERANDS > 1
                    const global INPUT1_TYPE* restrict input1,
#endif
#if OPERANDS > 2
                    const global INPUT2_TYPE* restrict input2,
#endif
                    global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
#if IS_SELECT
    const C c = INPUT0_LOAD(input0, INPUT0_INDEX_OF(at));
    const T a = INPUT1_LOAD(input1, INPUT1_INDEX_OF(at));
    const T b = INPUT2_LOAD(input2, INPUT2_INDEX_OF(at));
#else
    const T a = INPUT0_LOAD(input0, INPUT0_INDEX_OF(at));
#if OPERANDS > 1
    const T b = INPUT1_LOAD(input1, INPUT1_INDEX_OF(at));
#endif
#endif
    OUTPUT0_COMPUTE result = OPERATION;
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
}
