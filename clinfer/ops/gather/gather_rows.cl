// Looks rows up that are contiguous in data and output: views of four axes of which the last has pitch 1
// there and does not move the indices. The place of a row is held by INDEX_COUNT indices, ARG_TUPLE_PITCH
// apart; places outside of the data give zeros.
// One work-item copies SPAN elements of one row as vectors of VEC; dimension 1 runs over the rows.
// Without fused operations, data and output hold raw storage units.
#include "clinfer.cl"

#ifndef INDEX_COUNT
#define INDEX_COUNT 1
#define WRAPS_NEGATIVE 1
#define AXIS_SIZE(n) 16
#define AXIS_PITCH(n) 16
#define ARG_TUPLE_PITCH 0
#define VEC 16
#define SPAN 64
#endif

#include "shared/copy_row.h"

#define ROW_START(T) T##_INDEX_OF(at)

KERNEL(gather_rows)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict indices,
                    global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t first = (index_t)get_global_id(0) * SPAN;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(1) * OUTPUT0_SIZE_3, at);
    at[3] = first;
    const index_t place = INPUT1_INDEX_OF(at);
    index_t start = INPUT0_INDEX_OF(at);
    bool inside = true;
    for (int n = 0; n < INDEX_COUNT; ++n) {
        long index = (long)INPUT1_LOAD(indices, place + n * ARG_TUPLE_PITCH);
        if (WRAPS_NEGATIVE && index < 0) index += AXIS_SIZE(n);
        inside = inside && index >= 0 && index < AXIS_SIZE(n);
        start += inside ? (index_t)index * AXIS_PITCH(n) : 0;
    }
    const global INPUT0_TYPE* from = input + start;
    global OUTPUT0_TYPE* to = output + OUTPUT0_INDEX_OF(at);
    const int count = min((index_t)SPAN, OUTPUT0_SIZE_3 - first);
#if HAS_EPILOGUE
    FUSED_ROW_START(ROW_START)
    FUSED_COPY(inside)
#else
    if (!inside) {
        for (int i = 0; i < count; ++i) to[i] = 0;
        return;
    }
    FUNC(copy_row)(from, to, count);
#endif
}
