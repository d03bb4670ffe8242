// The tiles of convolutions on tensor cores (mma_tiles.h): rows are pixels of the output [B, C, Z, Y, X] with Z 1,
// columns its channels.
#define RIGHT_ALONG_K 1
#define COLUMN_AXIS 1
#define COLUMN_PITCH OUTPUT0_PITCH_1
// `first`: the first pixel and channel of a tile, and whether the pixels of all pictures are one row.
#define PLACE(at, first, y, x) do { \
        const int pixel_ = (first)[0] + (y), row_ = (first)[2] ? 0 : pixel_ / OUTPUT0_SIZE_X; \
        (at)[0] = (first)[2] ? 0 : row_ / OUTPUT0_SIZE_Y; \
        (at)[1] = (first)[1] + (x); \
        (at)[2] = 0; \
        (at)[3] = row_ - (at)[0] * OUTPUT0_SIZE_Y; \
        (at)[4] = pixel_ - row_ * OUTPUT0_SIZE_X; \
    } while (0)
#define IS_ROW(T) (T##_PITCH_Y == OUTPUT0_SIZE_X * T##_PITCH_X && T##_PITCH_0 == OUTPUT0_SIZE_Y * T##_PITCH_Y)
#define AND_FUSED_ROW_(n, x) && IS_ROW(FUSED##n)
#define COLUMN_MOVES(n) FUSED##n##_MOVES_1
#define ROWS_MOVE(n) (FUSED##n##_PITCH_Y != 0 || FUSED##n##_PITCH_X != 0)
#define PITCHES_ALLOW(T) ((T##_PITCH_0 | T##_PITCH_Y | T##_PITCH_X) % 4 == 0)
#define FUSED_FETCH4_1(n, at) FUSED_FETCH_VECTOR_(n, at, 1, 4)
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
    const int first_[3] = {corner_.y, corner_.x, IS_ROW(OUTPUT0) FUSED_EACH(AND_FUSED_ROW_, 0)}; \
    const int rows_ = PIXELS - corner_.y, columns_ = OUTPUT0_SIZE_1 - corner_.x
#define STORE_TILE(tile, sum, strip) do { \
        FIND_PLACE(tile); \
        STORE_RESULTS(sum, strip, first_, rows_, columns_); \
    } while (0)
#define PREFETCH_TILE(tile) do { \
        FIND_PLACE(tile); \
        PREFETCH_RESULTS(first_, rows_, columns_); \
    } while (0)
#define PIXELS ((int)(OUTPUT0_SIZE_0 * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X))

// The first pixel (y) and channel (x) of a tile.
INLINED int2 FUNC(corner_of)(const int tile ARGS) {
    return FUNC(tile_of)(tile, PIXELS, OUTPUT0_SIZE_1) * (int2)(TILE_COLUMNS, TILE_ROWS);
}

// Of this work-item's rows: where the data of their pictures begins, and the place of their filters' corners.
typedef struct {
    const global half* data[LEFT_COPIES];
    int y[LEFT_COPIES], x[LEFT_COPIES];
} FUNC(pixels);

INLINED void FUNC(find_pixels)(FUNC(pixels)* pixels, const global half* input, const int first, const int count ARGS) {
    #pragma unroll
    for (int i = 0; i < LEFT_COPIES; ++i) {
        const int pixel = min(first + OWN_ROW + i * ROWS_APART(DEPTH / 8), count - 1);
        pixels->y[i] = pixel / OUTPUT0_SIZE_X % OUTPUT0_SIZE_Y * ARG_STRIDE_Y - ARG_PAD_Y;
        pixels->x[i] = pixel % OUTPUT0_SIZE_X * ARG_STRIDE_X - ARG_PAD_X;
        const int picture[MAX_RANK] = {pixel / OUTPUT0_SIZE_X / OUTPUT0_SIZE_Y};
        pixels->data[i] = input + INPUT0_INDEX_OF(picture);
    }
}
