// Moves elements between depth (channels) and space, for DepthToSpace (TO_SPACE) and SpaceToDepth; any layout,
// rank and unpacked type. The channel of the deep tensor is (block, channel) or, with DEPTH_FIRST,
// (channel, block), where block counts the positions in a block of BLOCK^(RANK - 2) elements.
// One work-item moves one element.
#include "clinfer.cl"

#ifndef TO_SPACE
#define TO_SPACE 1
#define DEPTH_FIRST 0
#define BLOCK 2
#endif

KERNEL(depth_space_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t deep[MAX_RANK], wide[MAX_RANK];
#if TO_SPACE
    OUTPUT0_UNRAVEL(item, wide);
    const index_t channels = OUTPUT0_SIZE_1;
#else
    INPUT0_UNRAVEL(item, wide);
    const index_t channels = INPUT0_SIZE_1;
#endif
    index_t block = 0, blocks = 1;
    deep[0] = wide[0];
    for (int axis = 2; axis < INPUT0_RANK; ++axis) {
        deep[axis] = wide[axis] / BLOCK;
        block = block * BLOCK + wide[axis] % BLOCK;
        blocks *= BLOCK;
    }
    deep[1] = DEPTH_FIRST ? wide[1] * blocks + block : block * channels + wide[1];
#if TO_SPACE
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(wide), INPUT0_LOAD(input, INPUT0_INDEX_OF(deep)));
#else
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(deep), INPUT0_LOAD(input, INPUT0_INDEX_OF(wide)));
#endif
}
