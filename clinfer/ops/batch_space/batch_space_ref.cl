// Moves elements between the batch and spatial blocks, for BatchToSpace (TO_SPACE) and SpaceToBatch; any layout, type
// and rank from 2 on. The place in the larger batch is (place in the block, row-major; place in the smaller batch).
// BEGINS lists what is cut off, or zeros put, before each axis of the wide tensor. One work-item writes up to SPAN
// elements along the last axis; work-groups of LOCAL work-items, the last of which is not full.
#include "clinfer.cl"

#ifndef TO_SPACE
#define TO_SPACE 1
#define INPUT_SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#define BLOCKS {1, 1, 2, 2}
#define BEGINS {0, 0, 1, 0}
#define SPAN 64
#define LOCAL 1
#endif

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(batch_space_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t sizes[] = INPUT_SIZES, blocks[] = BLOCKS, begins[] = BEGINS;
    const int last = OUTPUT0_RANK - 1;
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_LAST, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN, row = (index_t)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK], from[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    const index_t end = min(first + SPAN, OUTPUT0_SIZE_LAST), block = blocks[last], begin = begins[last];
#if TO_SPACE
    index_t place = 0;
    for (int axis = 1; axis < last; ++axis) {
        const index_t wide = at[axis] + begins[axis];
        place = place * blocks[axis] + wide % blocks[axis];
        from[axis] = wide / blocks[axis];
    }
    for (index_t i = first; i < end; ++i) {
        at[last] = i;
        from[0] = at[0] + (place * block + (i + begin) % block) * OUTPUT0_SIZE_0;
        from[last] = (i + begin) / block;
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), INPUT0_LOAD(input, INPUT0_INDEX_OF(from)));
    }
#else
    index_t place = at[0] / INPUT0_SIZE_0;
    from[0] = at[0] % INPUT0_SIZE_0;
    const index_t within = place % block - begin;
    place /= block;
    bool is_inside = true;
    for (int axis = last - 1; axis > 0; --axis) {
        from[axis] = at[axis] * blocks[axis] + place % blocks[axis] - begins[axis];
        place /= blocks[axis];
        is_inside &= from[axis] >= 0 && from[axis] < sizes[axis];
    }
    for (index_t i = first; i < end; ++i) {
        at[last] = i;
        from[last] = i * block + within;
        INPUT0_COMPUTE value = 0;
        if (is_inside && from[last] >= 0 && from[last] < sizes[last])
            value = INPUT0_LOAD(input, INPUT0_INDEX_OF(from));
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), value);
    }
#endif
}
