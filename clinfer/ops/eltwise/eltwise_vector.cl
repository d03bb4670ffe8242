// OPERATION on one to three inputs, 16 elements at a time, for CPUs.
// Every operand is a view of the same four loops; along the innermost one an input is contiguous (pitch 1)
// or one value (pitch 0), and the output is contiguous. One work-item computes ARG_CHUNK elements of the
// innermost loop for ARG_STEPS steps of the loop around it; what does not fill a vector is computed singly.
// With IS_SELECT the first input is the condition c, the others a, b.
#include "clinfer.cl"

#ifndef OPERATION
#define OPERATION (a + b)
#define OPERANDS 2
#define IS_SELECT 0
#define ARG_CHUNK 2048
#define ARG_STEPS 1
#endif

#if IS_SELECT
#define VALUE INPUT1_COMPUTE
#define VALUE16 INPUT1_COMPUTE16
#else
#define VALUE INPUT0_COMPUTE
#define VALUE16 INPUT0_COMPUTE16
#endif

// One value or 16 neighbours of an input, at element `i` of the innermost loop.
#define FETCH(n, i) INPUT##n##_LOAD(input##n, at##n + (i) * INPUT##n##_PITCH_3)
#define FETCH16(n, i) (INPUT##n##_PITCH_3 ? INPUT##n##_LOAD16(input##n, at##n + (i)) \
                                          : (INPUT##n##_COMPUTE16)(INPUT##n##_LOAD(input##n, at##n)))

#if IS_SELECT
#define OPERANDS_AT(fetch, i) const C c = fetch(0, i); const T a = fetch(1, i); const T b = fetch(2, i);
#elif OPERANDS > 1
#define OPERANDS_AT(fetch, i) const T a = fetch(0, i); const T b = fetch(1, i);
#else
#define OPERANDS_AT(fetch, i) const T a = fetch(0, i);
#endif

#define START(t) (t##_OFFSET + first * t##_PITCH_0 + second * t##_PITCH_1 + step * t##_PITCH_2)

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(eltwise_vector)(const global INPUT0_TYPE* restrict input0,
#if OPERANDS > 1
                       const global INPUT1_TYPE* restrict input1,
#endif
#if OPERANDS > 2
                       const global INPUT2_TYPE* restrict input2,
#endif
                       global OUTPUT0_TYPE* restrict output ARGS) {
    const int begin = (int)get_global_id(0) * ARG_CHUNK, end = min(begin + ARG_CHUNK, OUTPUT0_SIZE_3);
    const int first = (int)get_global_id(2) / OUTPUT0_SIZE_1, second = (int)get_global_id(2) % OUTPUT0_SIZE_1;
    const int last = min(((int)get_global_id(1) + 1) * ARG_STEPS, OUTPUT0_SIZE_2);
    for (int step = (int)get_global_id(1) * ARG_STEPS; step < last; ++step) {
        const int at0 = START(INPUT0);
#if OPERANDS > 1
        const int at1 = START(INPUT1);
#endif
#if OPERANDS > 2
        const int at2 = START(INPUT2);
#endif
        const int to = START(OUTPUT0);
        int i = begin;
#define C INPUT0_COMPUTE16
#define T VALUE16
        for (; i + 16 <= end; i += 16) {
            OPERANDS_AT(FETCH16, i)
            OUTPUT0_STORE16(output, to + i, OPERATION);
        }
#undef C
#undef T
#define C INPUT0_COMPUTE
#define T VALUE
        for (; i < end; ++i) {
            OPERANDS_AT(FETCH, i)
            OUTPUT0_STORE(output, to + i, OPERATION);
        }
    }
}
