// Compressed weights (weights.h), whose k lie together, as halves: right [.., K, N], scratch [N, K].
// One work-item unpacks 16 k of a column. Dimension 0: sixteens of k, 1: columns.
#include "clinfer.cl"
#include "weights.h"

#define CHUNK 16

KERNEL(matmul_unpack)(const global INPUT1_TYPE* restrict right, WEIGHTS_PARAMETERS global half* restrict halves ARGS) {
    const int first = (int)get_global_id(0) * CHUNK, column = get_global_id(1), depth = INPUT1_SIZE_Y;
    const index_t from = INPUT1_OFFSET + (index_t)column * INPUT1_PITCH_X + first * INPUT1_PITCH_Y;
    const index_t to = (index_t)column * depth + first;
    for (int k = 0; k < min(CHUNK, depth - first); ++k)
        vstore_half(RIGHT(INPUT1_LOAD(right, from + k * INPUT1_PITCH_Y), first + k, column), to + k, halves);
}
