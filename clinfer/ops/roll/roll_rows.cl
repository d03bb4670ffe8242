// Moves rows of elements along axes, those that leave at one end back to the other. One work-item copies SPAN elements
// of a row, as vectors of VEC. Views hold raw storage units; their last axis, of ROW elements, is a row.
// WRAP(c) turns the coordinates of an element of the output into those of where it comes from, by WRAP_AXIS(c, axis);
// argument SHIFT_<axis>: places by which elements are moved, less than there are.
#include "clinfer.cl"

#ifndef VEC
#define VEC 4
#define SPAN 4
#define ROW OUTPUT0_SIZE_3
#define WRAP(c) WRAP_AXIS(c, 1);
#define ARG_SHIFT_1 1
#endif

#include "shared/copy_row.h"

#define WRAP_AXIS(c, axis) \
    (c)[axis] = (c)[axis] < ARG_SHIFT_##axis ? (c)[axis] + INPUT0_SIZE_##axis - ARG_SHIFT_##axis \
                                             : (c)[axis] - ARG_SHIFT_##axis

KERNEL(roll_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0), spans = CEIL_DIV(ROW, SPAN);
    const index_t row = item / spans, first = (item - row * spans) * SPAN;
    if (row * ROW >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(row * ROW + first, at);
    global OUTPUT0_TYPE* to = output + OUTPUT0_INDEX_OF(at);
    WRAP(at)
    FUNC(copy_row)(input + INPUT0_INDEX_OF(at), to, min((index_t)SPAN, ROW - first));
}
