// Tiles of TILE_PIXELS pixels x one block of 16 output channels (float_products.h, vectors of 8 floats), on
// b_fs_yx_fsv16 (or b_fs_zyx_fsv16) outputs; with TILE_VECTORS 3 of half the next block as well, whose other half has
// no channels. The pixels of a tile follow one another in a grid, whichever rows they lie in.
#ifndef TILE_PIXELS
#define TILE_PIXELS 6
#define VECTOR_FLOATS 8
#define TILES_OF_FLOATS 1
#define PANELS_JOINED 0
#endif
#ifndef TILE_VECTORS
#define TILE_VECTORS 2
#endif
#define TILE_ROWS TILE_PIXELS
#define TILE_BLOCKS (TILE_VECTORS - 1)
#define BLOCK 16

#include "shared/bias.h"
#include "shared/spatial.h"
#include "shared/float_products.h"
#include "shared/tile_runs.h"

// Pixels of the output along z, y, x: how many, where the first one lies, and how far apart they are.
typedef struct {
    int sizes[3], first[3], steps[3];
} FUNC(pixel_grid);

#define EACH_PIXEL {{OUTPUT0_SIZE_Z, OUTPUT0_SIZE_Y, OUTPUT0_SIZE_X}, {0, 0, 0}, {1, 1, 1}}
#define PIXELS_OF(grid) ((index_t)(grid).sizes[0] * (grid).sizes[1] * (grid).sizes[2])

// Where a filter that begins to read at `from` reads last.
#define LAST_READ(from, axis) ((from) + (INPUT1_SIZE_##axis - 1) * ARG_DILATION_##axis)

// Where the sums of a pixel start, from `channel` of a group on, and what the frame tells of data in blocks and of
// weights [G, O, I, ...], which all tiles of these channels have in common.
INLINED void FUNC(begin_tiles)(ulong* frame, float16* start, BIAS_PARAMETER const index_t group,
                               const index_t channel ARGS) {
    const index_t filter[MAX_RANK] = {group, channel}, next[MAX_RANK] = {group, channel + BLOCK};
    for (int i = 0; i < TILE_BLOCKS; ++i) start[i] = BIAS16(group * INPUT1_SIZE_1 + channel + i * BLOCK);
    for (int i = 0; i < 8; ++i) frame[ZEROS + i] = 0;
    frame[STEP_BYTES] = INPUT0_PITCH_1 * sizeof(float);
    frame[HALF_AT] = INPUT1_SIZE_2 % BLOCK > 0;
    frame[OTHER_BYTES] = (INPUT1_INDEX_OF(next) - INPUT1_INDEX_OF(filter)) * sizeof(float);
}

// The pixel of a grid behind that at place = (z, y, x); behind the last one comes the last.
INLINED void FUNC(step)(int* place, const FUNC(pixel_grid)* grid) {
    if (place[2] + 1 < grid->sizes[2]) {
        ++place[2];
    } else if (place[1] + 1 < grid->sizes[1]) {
        ++place[1], place[2] = 0;
    } else if (place[0] + 1 < grid->sizes[0]) {
        ++place[0], place[1] = place[2] = 0;
    }
}

// The place of pixel `index` of a grid.
INLINED void FUNC(find)(int* place, const index_t index, const FUNC(pixel_grid)* grid) {
    const index_t row = index / grid->sizes[2];
    place[0] = row / grid->sizes[1], place[1] = row % grid->sizes[1], place[2] = index % grid->sizes[2];
}

// The sums of a pixel and block of channels; what is no channel of the tile is 0.
INLINED float16 FUNC(load_sums)(const float* sums, const int pixel, const int block) {
    sums += (pixel * TILE_VECTORS + block * 2) * 8;
    return block * 2 + 1 < TILE_VECTORS ? vload16(0, sums) : (float16)(vload8(0, sums), (float8)0.0f);
}

// Lets the sums of the first `count` pixels begin with those of a pixel's blocks.
INLINED void FUNC(start_sums)(float* sums, const float16* start, const int count) {
    for (int i = 0; i < count; ++i, sums += TILE_VECTORS * 8) {
        vstore16(start[0], 0, sums);
        if (TILE_BLOCKS > 1) vstore8(start[TILE_BLOCKS - 1].lo, 2, sums);
    }
}

// Applies the fused operations to the sums of `count` pixels of a grid from `place` on, which is moved behind them, and
// stores them from `channel` on.
INLINED void FUNC(store_pixels)(global OUTPUT0_TYPE* output, const float* sums, const index_t batch,
                                const index_t channel, int* place, const FUNC(pixel_grid)* grid, const int count ARGS) {
    #pragma unroll 1
    for (int i = 0; i < count; ++i) {
        #pragma unroll
        for (int block = 0; block < TILE_BLOCKS; ++block) {
            index_t at[MAX_RANK] = {batch, channel + block * BLOCK};
            for (int axis = 0; axis < 3; ++axis) at[2 + axis] = grid->first[axis] + place[axis] * grid->steps[axis];
            const index_t to = OUTPUT0_INDEX_OF(at);
            OUTPUT0_COMPUTE16 result = FUNC(load_sums)(sums, i, block);
            FUSED_OPS16(result, at, 1)
            OUTPUT0_STORE16(output, to, result);
        }
        FUNC(step)(place, grid);
    }
}
