// OPERATION on one to three inputs, any layout, rank and type; inputs are views broadcast to the output.
// One work-item computes one element. With IS_SELECT the first input is the condition c, the others a, b.
#include "clinfer.cl"

#ifndef OPERATION
#define OPERATION (a + b)
#define OPERANDS 2
#define IS_SELECT 0
#define IS_INTEGER_POWER 0
#endif

#define C INPUT0_COMPUTE
#if IS_SELECT
#define T INPUT1_COMPUTE
#else
#define T INPUT0_COMPUTE
#endif

#if IS_INTEGER_POWER
// a to the power of b, for b of at least 0 (the truncated quotient for smaller ones), any integer type.
inline T FUNC(integer_power)(T a, T b) {
    T result = b < 0 ? (a == 1 ? 1 : 0) : 1;
    for (; b > 0; b /= 2, a *= a)
        if (b % 2) result *= a;
    return result;
}
#define INTEGER_POWER(a, b) FUNC(integer_power)(a, b)
#endif

KERNEL(eltwise_ref)(const global INPUT0_TYPE* restrict input0,
#if OPERANDS > 1
                    const global INPUT1_TYPE* restrict input1,
#endif
#if OPERANDS > 2
                    const global INPUT2_TYPE* restrict input2,
#endif
                    global OUTPUT0_TYPE* restrict output ARGS) {
    const int item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    int at[MAX_RANK];
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
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), OPERATION);
}
