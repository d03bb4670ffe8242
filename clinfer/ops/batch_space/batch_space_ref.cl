// Moves elements between the batch and spatial blocks, for BatchToSpace (TO_SPACE) and SpaceToBatch; any layout, rank
// and unpacked type. The place in the larger batch is (place in the block, row-major; place in the smaller batch).
// BEGINS lists what is cut off, or zeros put, before each axis of the wide tensor. One work-item writes one element.
#include "clinfer.cl"

#ifndef TO_SPACE
#define TO_SPACE 1
#define INPUT_SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#define BLOCKS {1, 1, 2, 2}
#define BEGINS {0, 0, 1, 0}
#endif

KERNEL(batch_space_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    const index_t sizes[] = INPUT_SIZES, blocks[] = BLOCKS, begins[] = BEGINS;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at);
#if TO_SPACE
    index_t place = 0;
    for (int axis = 1; axis < INPUT0_RANK; ++axis) {
        const index_t wide = at[axis] + begins[axis];
        place = place * blocks[axis] + wide % blocks[axis];
        at[axis] = wide / blocks[axis];
    }
    at[0] += place * OUTPUT0_SIZE_0;
    OUTPUT0_STORE(output, to, INPUT0_LOAD(input, INPUT0_INDEX_OF(at)));
#else
    index_t place = at[0] / INPUT0_SIZE_0;
    at[0] %= INPUT0_SIZE_0;
    bool is_inside = true;
    for (int axis = INPUT0_RANK - 1; axis > 0; --axis) {
        at[axis] = at[axis] * blocks[axis] + place % blocks[axis] - begins[axis];
        place /= blocks[axis];
        is_inside &= at[axis] >= 0 && at[axis] < sizes[axis];
    }
    OUTPUT0_STORE(output, to, is_inside ? INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) : (INPUT0_COMPUTE)0);
#endif
}
