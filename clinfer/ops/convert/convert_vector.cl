// Converts VECTOR elements at a time by way of THROUGH, walked as in shared/walk.h. Only rows shorter than a vector are
// converted singly. Limits: no 4-bit types.
#include "clinfer.cl"

#ifndef THROUGH
#define THROUGH float
#define THROUGH4 float4
#define THROUGH16 float16
#define VECTOR 16
#endif

#include "shared/walk.h"

#if VECTOR == 16
#define THROUGH_VECTOR THROUGH16
#else
#define THROUGH_VECTOR THROUGH4
#endif

#ifdef OUTPUT0_IS_BOOLEAN
#define CONVERTED(value) ((value) != 0)
#define CONVERTED_VECTOR(value) CONVERT(WIDE(OUTPUT0, COMPUTE))((value) != 0)
#else
#define CONVERTED(value) ((OUTPUT0_COMPUTE)(THROUGH)(value))
#define CONVERTED_VECTOR(value) CONVERT(WIDE(OUTPUT0, COMPUTE))(CONVERT(THROUGH_VECTOR)(value))
#endif
#define CONVERT(type) CLINFER_CAT(convert, type)

KERNEL(convert_vector)(const global INPUT0_TYPE* restrict input0, global OUTPUT0_TYPE* restrict output ARGS) {
    if ((index_t)get_global_id(0) >= ARG_ITEMS) return;
    DECLARE_TILE
    for (index_t row = first_row; row < last_row; ++row) {
        START(0)
        FUSED_ROW_START(INDEX)
        const index_t to = INDEX(OUTPUT0);
        if (end - begin >= VECTOR) {
            for (index_t i = begin; i < end; i += VECTOR) {
                i = min(i, end - VECTOR);
                WIDE(OUTPUT0, COMPUTE) result = CONVERTED_VECTOR(FETCH_VECTOR(0, i));
                WIDE(FUSED_ROW, OPS)(result, i)
                WIDE(OUTPUT0, STORE)(output, to + i, result);
            }
        } else {
            for (index_t i = begin; i < end; ++i) {
                OUTPUT0_COMPUTE result = CONVERTED(FETCH(0, i));
                FUSED_ROW_OPS(result, i)
                OUTPUT0_STORE(output, to + i, result);
            }
        }
    }
}
