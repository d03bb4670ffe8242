// The tiles of convolutions on tensor cores (mma_tiles.h): rows are pixels of the output [B, C, Z, Y, X], columns its
// channels. Z is 1 without VOLUMES. With GROUPED, the tiles of each group of channels follow those of the one before.
#ifndef VOLUMES
#define VOLUMES 0
#define GROUPED 0
#endif
#if VOLUMES
#define PLANES OUTPUT0_SIZE_Z
#define ARE_PLANES_ROWS(T) && T##_PITCH_Z == OUTPUT0_SIZE_Y * T##_PITCH_Y
#define PITCH_ABOVE_Y(T) (OUTPUT0_SIZE_Z * T##_PITCH_Z)
#define OR_PITCH_Z(T) | T##_PITCH_Z
#else
#define PLANES 1
#define ARE_PLANES_ROWS(T)
#define PITCH_ABOVE_Y(T) (OUTPUT0_SIZE_Y * T##_PITCH_Y)
#define OR_PITCH_Z(T)
#endif
#if GROUPED
#define GROUP_CHANNELS INPUT1_SIZE_1
#define GROUP_OF(tile) ((tile) / FUNC(tiles_of)(PIXELS, GROUP_CHANNELS))
#else
#define GROUP_CHANNELS OUTPUT0_SIZE_1
#define GROUP_OF(tile) 0
#endif
#define RIGHT_ALONG_K 1
#define COLUMN_AXIS 1
#define COLUMN_PITCH OUTPUT0_PITCH_1
// `first`: the first pixel and channel of a tile, and whether the pixels of all pictures are one row.
#define PLACE(at, first, y, x) do { \
        const int pixel_ = (first)[0] + (y), row_ = (first)[2] ? 0 : pixel_ / OUTPUT0_SIZE_X; \
        const int plane_ = (first)[2] ? 0 : row_ / OUTPUT0_SIZE_Y; \
        (at)[0] = plane_ / PLANES; \
        (at)[1] = (first)[1] + (x); \
        (at)[2] = plane_ - (at)[0] * PLANES; \
        (at)[3] = row_ - plane_ * OUTPUT0_SIZE_Y; \
        (at)[4] = pixel_ - row_ * OUTPUT0_SIZE_X; \
    } while (0)
#define IS_ROW(T) (T##_PITCH_Y == OUTPUT0_SIZE_X * T##_PITCH_X ARE_PLANES_ROWS(T) && T##_PITCH_0 == PITCH_ABOVE_Y(T))
#define AND_FUSED_ROW_(n, x) && IS_ROW(FUSED##n)
#define COLUMN_MOVES(n) FUSED##n##_MOVES_1
#define ROWS_MOVE(n) ((FUSED##n##_PITCH_Y | FUSED##n##_PITCH_X OR_PITCH_Z(FUSED##n)) != 0)
#define PITCHES_ALLOW(T) ((T##_PITCH_0 | T##_PITCH_Y | T##_PITCH_X OR_PITCH_Z(T)) % 4 == 0)
#define COLUMN_EPILOGUE4(result, at) FUSED_OPS4(result, at, 1)

#include "shared/bias.h"
#include "shared/spatial.h"
#include "shared/tensor_cores.h"
#if WARP_GROUPS
#include "shared/warp_groups.h"
#endif
#include "shared/mma_tiles.h"
#if SHARED_STEPS
#include "shared/shared_steps.h"
#endif
#include "shared/store_tiles.h"

// Declares `first` of a tile.
#define FIND_PLACE(tile) \
    const int2 corner_ = FUNC(corner_of)(tile PASS_ARGS); \
    const int first_[3] = {corner_.y, GROUP_OF(tile) * GROUP_CHANNELS + corner_.x, \
                           IS_ROW(OUTPUT0) FUSED_EACH(AND_FUSED_ROW_, 0)}; \
    const int rows_ = PIXELS - corner_.y, columns_ = GROUP_CHANNELS - corner_.x
#define STORE_TILE(tile, sum, strip) do { \
        FIND_PLACE(tile); \
        STORE_RESULTS(sum, strip, first_, rows_, columns_); \
    } while (0)
#define PREFETCH_TILE(tile) do { \
        FIND_PLACE(tile); \
        PREFETCH_RESULTS(first_, rows_, columns_); \
    } while (0)
#define PIXELS ((int)(OUTPUT0_SIZE_0 * PLANES * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X))

// The first pixel (y) and channel of its group (x) of a tile.
INLINED int2 FUNC(corner_of)(const int tile ARGS) {
    const int own = GROUPED ? tile % FUNC(tiles_of)(PIXELS, GROUP_CHANNELS) : tile;
    return FUNC(tile_of)(own, PIXELS, GROUP_CHANNELS) * (int2)(TILE_COLUMNS, TILE_ROWS);
}

// Of this work-item's rows: where the data of their pictures begins, and the place of their filters' corners.
typedef struct {
    const global half* data[LEFT_COPIES];
    int z[LEFT_COPIES], y[LEFT_COPIES], x[LEFT_COPIES];
} FUNC(pixels);

INLINED void FUNC(find_pixels)(FUNC(pixels)* pixels, const global half* input, const int first, const int count ARGS) {
    #pragma unroll
    for (int i = 0; i < LEFT_COPIES; ++i) {
        const int pixel = min(first + OWN_ROW + i * ROWS_APART(DEPTH / 8), count - 1);
        const int row = pixel / OUTPUT0_SIZE_X, plane = row / OUTPUT0_SIZE_Y;
        pixels->z[i] = VOLUMES ? plane % PLANES * ARG_STRIDE_Z - ARG_PAD_Z : 0;
        pixels->y[i] = row % OUTPUT0_SIZE_Y * ARG_STRIDE_Y - ARG_PAD_Y;
        pixels->x[i] = pixel % OUTPUT0_SIZE_X * ARG_STRIDE_X - ARG_PAD_X;
        const int picture[MAX_RANK] = {plane / PLANES};
        pixels->data[i] = input + INPUT0_INDEX_OF(picture);
    }
}
