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

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(matmul_mma)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                   BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local uchar steps[STAGES * STEP_BYTES] __attribute__((aligned(STEP_ALIGNMENT)));
    const int2 tile = FUNC(tile_of)(get_group_id(0), OUTPUT0_SIZE_Y, OUTPUT0_SIZE_X);
    const int row = tile.y * TILE_ROWS, column = tile.x * TILE_COLUMNS;
    const int rows = OUTPUT0_SIZE_Y - row, columns = OUTPUT0_SIZE_X - column, depth = INPUT0_SIZE_X;
    int at[MAX_RANK];
    OUTPUT0_UNRAVEL((int)get_group_id(1) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);

    const global half* left_rows[LEFT_COPIES];
    const global half* corner = (const global half*)left + INPUT0_INDEX_OF(at) + (long)row * INPUT0_PITCH_Y;
    const bool left_aligned = IS_ALIGNED(corner, INPUT0_PITCH_Y);
    FUNC(find_rows)(left_rows, LEFT_COPIES, corner, rows - 1, INPUT0_PITCH_Y);
    corner = (const global half*)right + INPUT1_INDEX_OF(at) + (long)column * INPUT1_PITCH_X;
#if RIGHT_ALONG_K
    const bool right_aligned = IS_ALIGNED(corner, INPUT1_PITCH_X);
    const global half* right_rows[RIGHT_COPIES];
    FUNC(find_rows)(right_rows, RIGHT_COPIES, corner, columns - 1, INPUT1_PITCH_X);
#define COPY_RIGHT(to, k) FUNC(copy_rows)(to, right_rows, RIGHT_COPIES, k, depth, right_aligned)
#else
    const bool right_aligned = IS_ALIGNED(corner, INPUT1_PITCH_Y);
#define COPY_RIGHT(to, k) FUNC(copy_columns)(to, corner, columns, k, depth, INPUT1_PITCH_Y, right_aligned)
#endif
#define COPY_STEP(to, s) do { \
        FUNC(copy_rows)(to, left_rows, LEFT_COPIES, (s) * DEPTH, depth, left_aligned); \
        COPY_RIGHT((to) + LEFT_BYTES, (s) * DEPTH); \
    } while (0)

    float sum[PART_ROWS / 16][PART_COLUMNS / 8][4];
    ADD_STEPS(sum, steps, (depth + DEPTH - 1) / DEPTH);

    at[OUTPUT0_RANK - 2] = row;
    at[OUTPUT0_RANK - 1] = column;
    STORE_RESULTS(sum, steps, at, rows, columns);
}
