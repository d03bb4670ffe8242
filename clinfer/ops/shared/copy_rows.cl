// Copies rows that are contiguous on both sides: views of four axes of which the last has pitch 1.
// One work-item copies SPAN elements of one row as vectors of VEC; dimension 1 runs over the rows.
#include "clinfer.cl"

#ifndef VEC
#define VEC 16
#define SPAN 64
#endif

#include "shared/copy_row.h"

KERNEL(copy_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int first = (int)get_global_id(0) * SPAN;
    const int row = get_global_id(1);
    const int at2 = row % OUTPUT0_SIZE_2;
    const int rest = row / OUTPUT0_SIZE_2;
    const int at1 = rest % OUTPUT0_SIZE_1;
    const int at0 = rest / OUTPUT0_SIZE_1;
    const global INPUT0_TYPE* from = input + INPUT0_GET_INDEX(at0, at1, at2, first);
    global OUTPUT0_TYPE* to = output + OUTPUT0_GET_INDEX(at0, at1, at2, first);
    const int count = min(SPAN, OUTPUT0_SIZE_3 - first);
    FUNC(copy_row)(from, to, count);
}
