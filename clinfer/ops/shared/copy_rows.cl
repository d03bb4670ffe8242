// Copies rows that are contiguous on both sides: views of five axes of which the last has pitch 1.
// One work-item copies SPAN elements of one row as vectors of VEC; dimension 1 runs over the rows.
// Without fused operations the views hold raw storage units.
#include "clinfer.cl"

#ifndef VEC
#define VEC 16
#define SPAN 64
#define OUTPUT0_SIZE_4 1
#endif

#include "shared/copy_row.h"

#define ROW_START(T) T##_GET_INDEX(at0, at1, at2, at3, first)

KERNEL(copy_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t first = (index_t)get_global_id(0) * SPAN;
    index_t row = get_global_id(1);
    const index_t at3 = row % OUTPUT0_SIZE_3;
    row /= OUTPUT0_SIZE_3;
    const index_t at2 = row % OUTPUT0_SIZE_2;
    row /= OUTPUT0_SIZE_2;
    const index_t at1 = row % OUTPUT0_SIZE_1, at0 = row / OUTPUT0_SIZE_1;
    const global INPUT0_TYPE* from = input + ROW_START(INPUT0);
    global OUTPUT0_TYPE* to = output + ROW_START(OUTPUT0);
    const int count = min((index_t)SPAN, OUTPUT0_SIZE_4 - first);
#if HAS_EPILOGUE
    FUSED_ROW_START(ROW_START)
    FUSED_COPY(1)
#else
    FUNC(copy_row)(from, to, count);
#endif
}
