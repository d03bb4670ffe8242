// The tiles of matrix products on tensor cores (mma_tiles.h): where their results belong in output [..., M, N].
#define COLUMN_AXIS (OUTPUT0_RANK - 1)
#define COLUMN_PITCH OUTPUT0_PITCH_X
#define COLUMN_MOVES(n) FUSED##n##_MOVES_LAST
#define ROWS_MOVE(n) (FUSED##n##_PITCH_Y != 0)
#define PITCHES_ALLOW(T) (T##_PITCH_Y % 4 == 0)
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
#if SHARED_STEPS
#include "shared/shared_steps.h"
#endif
#include "shared/store_tiles.h"

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

// Declares the place of a tile's first result.
#define FIND_PLACE(tile) \
    FUNC(corner) place_ = FUNC(corner_of)(tile, tiles PASS_ARGS); \
    place_.at[OUTPUT0_RANK - 2] = place_.row; \
    place_.at[OUTPUT0_RANK - 1] = place_.column; \
    const int rows_ = OUTPUT0_SIZE_Y - place_.row, columns_ = OUTPUT0_SIZE_X - place_.column
#define STORE_TILE(tile, sum, strip) do { \
        FIND_PLACE(tile); \
        STORE_RESULTS(sum, strip, place_.at, rows_, columns_); \
    } while (0)
#define PREFETCH_TILE(tile) do { \
        FIND_PLACE(tile); \
        PREFETCH_RESULTS(place_.at, rows_, columns_); \
    } while (0)
