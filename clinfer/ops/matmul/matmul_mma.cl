// Matrix product on NVIDIA's tensor cores: f16 sides, sums in float, by the tiles of mma_tiles.h.
// Views, all of one rank: left [..., M, K], right [..., K, N], output [..., M, N]; bias [N]. The elements of a row of
// the left side lie together, and those of a column (RIGHT_ALONG_K) or row of the right one.
// Groups: tiles; batch.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 64
#define TILE_COLUMNS 64
#define DEPTH 32
#define STAGES 3
#define WARPS_DOWN 2
#define WARPS_ACROSS 2
#define COPYING_WARPS 0
#define RIGHT_ALONG_K 0
#endif
#include "mma_places.h"

// What a work-item copies of both sides of a tile.
typedef struct {
    const global half* left[LEFT_COPIES];
#if RIGHT_ALONG_K
    const global half* right[RIGHT_COPIES];
#else
    const global half* right;
    int columns;
#endif
} FUNC(sides);

INLINED void FUNC(find_sides)(FUNC(sides)* sides, const global half* left, const global half* right,
                              const FUNC(corner) corner ARGS) {
    FIND_ROWS(sides->left, LEFT_COPIES, left + INPUT0_INDEX_OF(corner.at) + (long)corner.row * INPUT0_PITCH_Y,
                    OUTPUT0_SIZE_Y - corner.row - 1, INPUT0_PITCH_Y);
    right += INPUT1_INDEX_OF(corner.at) + (long)corner.column * INPUT1_PITCH_X;
#if RIGHT_ALONG_K
    FIND_ROWS(sides->right, RIGHT_COPIES, right, OUTPUT0_SIZE_X - corner.column - 1, INPUT1_PITCH_X);
#else
    sides->right = right;
    sides->columns = OUTPUT0_SIZE_X - corner.column;
#endif
}

INLINED void FUNC(copy_step)(const uint to, const FUNC(sides)* sides, const int k ARGS) {
    const int depth = INPUT0_SIZE_X;
    COPY_ROWS(COPY16, to, sides->left, LEFT_COPIES, k, depth, IS_ALIGNED(sides->left[0], INPUT0_PITCH_Y));
#if RIGHT_ALONG_K
    COPY_ROWS(COPY16_LEAVING, to + LEFT_BYTES, sides->right, RIGHT_COPIES, k, depth,
                    IS_ALIGNED(sides->right[0], INPUT1_PITCH_X));
#else
    FUNC(copy_columns)(to + LEFT_BYTES, sides->right, sides->columns, k, depth, INPUT1_PITCH_Y,
                       IS_ALIGNED(sides->right, INPUT1_PITCH_Y));
#endif
}

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(matmul_mma)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                   BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local uchar memory[LOCAL_BYTES] __attribute__((aligned(STEP_ALIGNMENT)));
    const int tiles = FUNC(tiles_of)(OUTPUT0_SIZE_Y, OUTPUT0_SIZE_X);
    const int batch = OUTPUT0_COUNT / (OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X);
    FUNC(sides) sides;
#define FIND_SIDES(tile) \
    FUNC(find_sides)(&sides, (const global half*)left, (const global half*)right, \
                     FUNC(corner_of)(tile, tiles PASS_ARGS) PASS_ARGS)
#define COPY_STEP(to, s) FUNC(copy_step)(to, &sides, (s) * DEPTH PASS_ARGS)
    COMPUTE_TILES(memory, tiles * batch, (INPUT0_SIZE_X + DEPTH - 1) / DEPTH);
}
