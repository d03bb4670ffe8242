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
#define COLUMN_AXIS (OUTPUT0_RANK - 1)
#define COLUMN_PITCH OUTPUT0_PITCH_X
#define PLACE(at, first, y, x) do { \
        _Pragma("unroll") for (int axis_ = 0; axis_ < OUTPUT0_RANK; ++axis_) (at)[axis_] = (first)[axis_]; \
        (at)[OUTPUT0_RANK - 2] += (y); \
        (at)[OUTPUT0_RANK - 1] += (x); \
    } while (0)
#define COLUMN_EPILOGUE4(result, at) FUSED_OPS4(result, at, LAST)

#include "shared/bias.h"
#include "shared/tensor_cores.h"
#if WARP_GROUPS
#include "shared/warp_groups.h"
#endif
#include "shared/mma_tiles.h"

// Where a tile lies: its first row and column, and the coordinates of its batch's first result.
typedef struct {
    int row, column, at[MAX_RANK];
} FUNC(corner);

INLINED FUNC(corner) FUNC(corner_of)(const int tile, const int tiles ARGS) {
    FUNC(corner) corner;
    OUTPUT0_UNRAVEL(tile / tiles * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, corner.at);
    const int2 place = FUNC(tile_of)(tile % tiles, OUTPUT0_SIZE_Y, OUTPUT0_SIZE_X);
    corner.row = place.y * TILE_ROWS;
    corner.column = place.x * TILE_COLUMNS;
    return corner;
}

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
    COPY_ROWS(to, sides->left, LEFT_COPIES, k, depth, IS_ALIGNED(sides->left[0], INPUT0_PITCH_Y));
#if RIGHT_ALONG_K
    COPY_ROWS(to + LEFT_BYTES, sides->right, RIGHT_COPIES, k, depth,
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
#define STORE_TILE(tile, sum, strip) do { \
        FUNC(corner) corner_ = FUNC(corner_of)(tile, tiles PASS_ARGS); \
        corner_.at[OUTPUT0_RANK - 2] = corner_.row; \
        corner_.at[OUTPUT0_RANK - 1] = corner_.column; \
        STORE_RESULTS(sum, strip, corner_.at, (int)OUTPUT0_SIZE_Y - corner_.row, \
                      (int)OUTPUT0_SIZE_X - corner_.column); \
    } while (0)
    COMPUTE_TILES(memory, tiles * batch, (INPUT0_SIZE_X + DEPTH - 1) / DEPTH);
}
