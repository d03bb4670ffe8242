// OPERATION on one to three inputs (a, b), VECTOR elements at a time, walked as in shared/walk.h. Only rows shorter
// than a vector are computed singly. With IS_SELECT the first input is the condition c, the others a, b.
#include "clinfer.cl"

#ifndef OPERATION
#define OPERATION (a + b)
#define OPERANDS 2
#define IS_SELECT 0
#define VECTOR 16
#endif

#include "shared/walk.h"

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
    if ((index_t)get_global_id(0) >= ARG_ITEMS) return;
    DECLARE_TILE
    for (index_t row = first_row; row < last_row; ++row) {
        START(0)
#if OPERANDS > 1
        START(1)
#endif
#if OPERANDS > 2
        START(2)
#endif
        FUSED_ROW_START(INDEX)
        const index_t to = INDEX(OUTPUT0);
        if (end - begin >= VECTOR) {
#define T COMPUTE_OF(VALUES, COMPUTE)
#define C WIDE(INPUT0, COMPUTE)
#define POWER POWER_VECTOR
            for (index_t i = begin; i < end; i += VECTOR) {
                i = min(i, end - VECTOR);
                OPERANDS_AT(FETCH_VECTOR, i)
#if HAS_EPILOGUE
                T result = OPERATION;
                WIDE(FUSED_ROW, OPS)(result, i)
                WIDE(OUTPUT0, STORE)(output, to + i, result);
#else
                WIDE(OUTPUT0, STORE)(output, to + i, OPERATION);
#endif
            }
#undef T
#undef C
#undef POWER
        } else {
#define T CLINFER_CAT(VALUES, COMPUTE)
#define C INPUT0_COMPUTE
#define POWER POWER_SINGLE
            for (index_t i = begin; i < end; ++i) {
                OPERANDS_AT(FETCH, i)
#if HAS_EPILOGUE
                T result = OPERATION;
                FUSED_ROW_OPS(result, i)
                OUTPUT0_STORE(output, to + i, result);
#else
                OUTPUT0_STORE(output, to + i, OPERATION);
#endif
            }
        }
    }
}
