// Tiles of TILE_PIXELS pixels x one block of 16 output channels (float_products.h, vectors of 8 floats), on
// b_fs_yx_fsv16 (or b_fs_zyx_fsv16) outputs. The pixels of a tile follow one another in a grid, whichever rows they lie
// in.
#ifndef TILE_PIXELS
#define TILE_PIXELS 6
#define VECTOR_FLOATS 8
#define TILES_OF_FLOATS 1
#define PANELS_JOINED 0
#endif
#define TILE_ROWS TILE_PIXELS
#define BLOCK 16

#include "shared/bias.h"
#include "shared/spatial.h"
#include "shared/float_products.h"
#include "shared/tile_runs.h"

// Pixels of the output along z, y, x: how many, where the first one lies, and how far apart they are.
typedef struct {
    int sizes[3], first[3], steps[3];
} pixel_grid;

#define EACH_PIXEL {{OUTPUT0_SIZE_Z, OUTPUT0_SIZE_Y, OUTPUT0_SIZE_X}, {0, 0, 0}, {1, 1, 1}}
#define PIXELS_OF(grid) ((index_t)(grid).sizes[0] * (grid).sizes[1] * (grid).sizes[2])

// The pixel of a grid behind that at place = (z, y, x); behind the last one comes the last.
INLINED void FUNC(step)(int* place, const pixel_grid* grid) {
    if (place[2] + 1 < grid->sizes[2]) {
        ++place[2];
    } else if (place[1] + 1 < grid->sizes[1]) {
        ++place[1], place[2] = 0;
    } else if (place[0] + 1 < grid->sizes[0]) {
        ++place[0], place[1] = place[2] = 0;
    }
}

// The place of pixel `index` of a grid.
INLINED void FUNC(find)(int* place, const index_t index, const pixel_grid* grid) {
    const index_t row = index / grid->sizes[2];
    place[0] = row / grid->sizes[1], place[1] = row % grid->sizes[1], place[2] = index % grid->sizes[2];
}

// Applies the fused operations to the sums of `count` pixels of a grid from `place` on, which is moved behind them, and
// stores them from `channel` on.
INLINED void FUNC(store_pixels)(global OUTPUT0_TYPE* output, const float* sums, const index_t batch,
                                const index_t channel, int* place, const pixel_grid* grid, const int count ARGS) {
    #pragma unroll 1
    for (int i = 0; i < count; ++i) {
        index_t at[MAX_RANK] = {batch, channel};
        for (int axis = 0; axis < 3; ++axis) at[2 + axis] = grid->first[axis] + place[axis] * grid->steps[axis];
        const index_t to = OUTPUT0_INDEX_OF(at);
        OUTPUT0_COMPUTE16 result = vload16(i, sums);
        FUSED_OPS16(result, at, 1)
        OUTPUT0_STORE16(output, to, result);
        FUNC(step)(place, grid);
    }
}
