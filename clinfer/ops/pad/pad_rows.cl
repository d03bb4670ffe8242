// Pads or crops tensors whose last axis is contiguous, any rank but 0. One work-item writes SPAN elements of each of
// ROWS rows of the output; what comes from the data in its order is copied as vectors. Dimension 0: spans, 1: rows.
// MODE: 0 constant, 1 edge, 2 reflect, 3 symmetric. The views hold raw storage units, as does INPUT3, the constant, if
// WITH_VALUE.
#include "clinfer.cl"

#ifndef MODE
#define MODE 0
#define WITH_VALUE 1
#define SPAN 256
#define ROWS 8
#define VEC 16
#define SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#define OUTPUT_SIZES {OUTPUT0_SIZE_0, OUTPUT0_SIZE_1, OUTPUT0_SIZE_2, OUTPUT0_SIZE_3}
#define BEGINS {1, 1, 1, 1}
#endif

#include "shared/copy_row.h"
#include "pad_source.h"

#define LAST (OUTPUT0_RANK - 1)

KERNEL(pad_rows)(const global INPUT0_TYPE* restrict input,
#if WITH_VALUE
                 const global INPUT3_TYPE* restrict value,
#endif
                 global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t sizes[] = SIZES, output_sizes[] = OUTPUT_SIZES, begins[] = BEGINS;
    const index_t first = (index_t)get_global_id(0) * SPAN, first_row = (index_t)get_global_id(1) * ROWS;
    const index_t begin = begins[LAST] - first, size = sizes[LAST];
    const int count = min((index_t)SPAN, OUTPUT0_SIZE_LAST - first);
    const int copied = clamp(begin, (index_t)0, (index_t)count);
    const int behind = clamp(begin + size, (index_t)copied, (index_t)count);
    const int rows = min((index_t)ROWS, OUTPUT0_COUNT / OUTPUT0_SIZE_LAST - first_row);
#if WITH_VALUE
    const OUTPUT0_TYPE outside = value[INPUT3_OFFSET];
#else
    const OUTPUT0_TYPE outside = 0;
#endif
    index_t at[MAX_RANK], from[MAX_RANK];
    OUTPUT0_UNRAVEL(first_row * OUTPUT0_SIZE_LAST, at);
    at[LAST] = first;
    from[LAST] = 0;
    for (int n = 0; n < rows; ++n) {
        int is_inside = 1;
        for (int axis = 0; axis < LAST; ++axis) {
            from[axis] = FUNC(source_of)(at[axis], begins[axis], sizes[axis]);
            is_inside &= from[axis] >= 0;
        }
        global OUTPUT0_TYPE* to = output + OUTPUT0_INDEX_OF(at);
        if (is_inside) {
            const global INPUT0_TYPE* row = input + INPUT0_INDEX_OF(from);
#if MODE == 0
            for (int i = 0; i < copied; ++i) to[i] = outside;
            for (int i = behind; i < count; ++i) to[i] = outside;
#else
            for (int i = 0; i < copied; ++i) to[i] = row[FUNC(source_of)(i, begin, size)];
            for (int i = behind; i < count; ++i) to[i] = row[FUNC(source_of)(i, begin, size)];
#endif
            FUNC(copy_row)(row + copied - begin, to + copied, behind - copied);
        } else {
            for (int i = 0; i < count; ++i) to[i] = outside;
        }
        for (int axis = LAST - 1; axis >= 0 && ++at[axis] == output_sizes[axis]; --axis) at[axis] = 0;
    }
}
