// Pads or crops a tensor; any layout, type and rank but 0. MODE: 0 constant, 1 edge, 2 reflect, 3 symmetric.
// BEGINS lists the elements put before each axis. One work-item writes up to SPAN elements along the last
// axis; work-groups of LOCAL work-items, the last of which is not full. INPUT3 is the constant, if WITH_VALUE.
#include "clinfer.cl"

#ifndef MODE
#define MODE 0
#define WITH_VALUE 1
#define SPAN 64
#define LOCAL 1
#define SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#define BEGINS {1, 1, 1, 1}
#endif

#include "pad_source.h"

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(pad_ref)(const global INPUT0_TYPE* restrict input,
#if WITH_VALUE
                const global INPUT3_TYPE* restrict value,
#endif
                global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t sizes[] = SIZES, begins[] = BEGINS;
    const int last = OUTPUT0_RANK - 1;
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_LAST, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN;
    const index_t row = (index_t)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK], from[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    int is_inside = 1;
    for (int axis = 0; axis < last; ++axis) {
        from[axis] = FUNC(source_of)(at[axis], begins[axis], sizes[axis]);
        is_inside &= from[axis] >= 0;
    }
#if WITH_VALUE
    const INPUT0_COMPUTE outside = INPUT3_LOAD(value, INPUT3_OFFSET);
#else
    const INPUT0_COMPUTE outside = 0;
#endif
    const index_t end = min(first + SPAN, OUTPUT0_SIZE_LAST);
    for (index_t i = first; i < end; ++i) {
        at[last] = i;
        from[last] = FUNC(source_of)(i, begins[last], sizes[last]);
        INPUT0_COMPUTE element = outside;
        if (is_inside && from[last] >= 0) element = INPUT0_LOAD(input, INPUT0_INDEX_OF(from));
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), element);
    }
}
