// Compressed weights (weights.h), whose k lie together, as halves: right [.., K, N], scratch [N, K].
// One work-item unpacks CHUNK k of a column: PIECE of them, which are 16 bytes and of one group, or any 16 one by one
// (PIECE 0). Dimension 0: chunks of k, 1: columns.
#include "clinfer.cl"

#ifndef PIECE
#define PIECE 0
#define IS_SIGNED 0
#endif

#include "weights.h"

#if PIECE
#include "shared/tensor_cores.h"
#include "pieces.h"
#define CHUNK PIECE
#else
#define CHUNK 16
#endif

KERNEL(matmul_unpack)(const global INPUT1_TYPE* restrict right, WEIGHTS_PARAMETERS global half* restrict halves ARGS) {
    const int first = (int)get_global_id(0) * CHUNK, column = get_global_id(1), depth = INPUT1_SIZE_Y;
    const index_t from = INPUT1_OFFSET + (index_t)column * INPUT1_PITCH_X + first * INPUT1_PITCH_Y;
    const index_t to = (index_t)column * depth + first;
#if PIECE
    uint pairs[PAIRS];
    FUNC(unpack)(pairs, *(const global uint4*)((const global uchar*)right + from * 16 / PIECE),
                 ((const global ushort*)scale)[SCALE_GET_INDEX(GROUP_OF(first), column)] * 0x10001u,
                 ZERO_POINT(GROUP_OF(first), column));
    #pragma unroll
    for (int i = 0; i < PIECE / 8; ++i) {
        uint4 eight = vload4(i, pairs);
#if PIECE == 32
        eight = (uint4)(FUNC(pick_bytes)(eight.x, eight.y, 0x5410), FUNC(pick_bytes)(eight.z, eight.w, 0x5410),
                        FUNC(pick_bytes)(eight.x, eight.y, 0x7632), FUNC(pick_bytes)(eight.z, eight.w, 0x7632));
#endif
        *(global uint4*)(halves + to + i * 8) = eight;
    }
#else
    for (int k = 0; k < min(CHUNK, depth - first); ++k)
        vstore_half(RIGHT(INPUT1_LOAD(right, from + k * INPUT1_PITCH_Y), first + k, column), to + k, halves);
#endif
}
