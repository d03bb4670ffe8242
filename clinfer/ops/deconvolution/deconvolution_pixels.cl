// Transposed convolution of floats (float_products.h) on b_fs_yx_fsv16 (or b_fs_zyx_fsv16) data and output, for x86
// CPUs.
// Outputs whose place in the full output leaves the same remainder when divided by the stride (a phase) read the same
// filter elements, and neighbours among them read neighbouring data: each phase is an ordinary convolution. One
// work-item computes ARG_RUN tiles (tile_runs.h) of pixels of each phase of a row x channels (float_pixels.h), of which
// there are ARG_TILES side by side in a group. All data is read where it lies; what lies outside of the data is one row
// of zeros.
// Dimension 0: runs of tiles; 1: phases of rows, tiles of channels, groups, batch.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X], where for each filter element the blocks of 16
// input x 16 output channels follow one another (block tails are zero), bias [G * O] in blocks of 16 (the same).
// Limits: a group's input channels fill blocks of 16 but for the last one, of which there may be half; grouped output
// channels are multiples of 16; vectors of 8 floats.
#include "clinfer.cl"

#ifndef FILTER_TAPS
#define FILTER_TAPS 4
#define ARG_TILES 1
#endif

#include "shared/float_pixels.h"

// An element of the filter that the pixels of a phase read: how far behind a pixel the data lies along z, y, x, and its
// weights.
typedef struct {
    int shift[3];
    ulong weights;
} FUNC(filter_tap);

#define IS_READ(place, k, axis) (((place) - (k) * ARG_DILATION_##axis) % ARG_STRIDE_##axis == 0)
#define SHIFT(place, k, axis) (((place) - (k) * ARG_DILATION_##axis) / ARG_STRIDE_##axis)

// Finds the elements of the filter for a phase whose first pixel has this place in the full output; returns how many.
INLINED int FUNC(find_taps)(FUNC(filter_tap)* taps, const global float* weights, const index_t group,
                            const index_t channel, const int z, const int y, const int x ARGS) {
    int count = 0;
    for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
        if (!IS_READ(z, kz, Z)) continue;
        for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
            if (!IS_READ(y, ky, Y)) continue;
            for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
                if (!IS_READ(x, kx, X)) continue;
                const index_t filter[MAX_RANK] = {group, channel, 0, kz, ky, kx};
                FUNC(filter_tap)* tap = taps + count++;
                tap->shift[0] = SHIFT(z, kz, Z), tap->shift[1] = SHIFT(y, ky, Y), tap->shift[2] = SHIFT(x, kx, X);
                tap->weights = (ulong)(weights + INPUT1_INDEX_OF(filter));
            }
        }
    }
    return count;
}

// Where each pixel of a tile finds its data, in bytes behind that of the picture's first pixel.
INLINED void FUNC(find_pixels)(ulong* rows, const int places[TILE_PIXELS][3], const int* shift ARGS) {
    #pragma clang loop vectorize(disable)
    for (int i = 0; i < TILE_PIXELS; ++i) {
        const int z = places[i][0] + shift[0], y = places[i][1] + shift[1], x = places[i][2] + shift[2];
        const bool is_inside =
            IS_ON_AXIS(z, INPUT0_SIZE_Z) && IS_ON_AXIS(y, INPUT0_SIZE_Y) && IS_ON_AXIS(x, INPUT0_SIZE_X);
        rows[i] = is_inside ? ((long)z * INPUT0_PITCH_Z + (long)y * INPUT0_PITCH_Y + x * BLOCK) * sizeof(float) : -1UL;
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(deconvolution_pixels)(const global float* restrict input, const global float* restrict weights,
                             BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int strides[3] = {ARG_STRIDE_Z, ARG_STRIDE_Y, ARG_STRIDE_X};
    const int phase = (int)get_global_id(1) % (strides[0] * strides[1]);
    const int other = (int)get_global_id(1) / (strides[0] * strides[1]);
    const index_t batch = other / (ARG_TILES * INPUT1_SIZE_0), group = other / ARG_TILES % INPUT1_SIZE_0;
    const index_t channel = other % ARG_TILES * BLOCK;
    const index_t begin[MAX_RANK] = {batch, group * INPUT1_SIZE_2};
    const ulong data = (ulong)(input + INPUT0_INDEX_OF(begin));
    ulong rows[TILE_PIXELS];
    FRAME(frame);
    float16 start[TILE_BLOCKS];
    FUNC(begin_tiles)(frame, start, PASS_BIAS group, channel PASS_ARGS);
    frame[TAPS_AT] = (ulong)rows;
    frame[TAPS_END] = (ulong)(rows + TILE_PIXELS);
    for (int phase_x = 0; phase_x < strides[2]; ++phase_x) {
        FUNC(pixel_grid) grid = EACH_PIXEL;
        grid.first[0] = phase / strides[1], grid.first[1] = phase % strides[1], grid.first[2] = phase_x;
        for (int axis = 0; axis < 3; ++axis) {
            grid.steps[axis] = strides[axis];
            grid.sizes[axis] = max(0, grid.sizes[axis] - grid.first[axis] + strides[axis] - 1) / strides[axis];
        }
        FUNC(filter_tap) taps[FILTER_TAPS];
        const int tap_count = FUNC(find_taps)(taps, weights, group, channel, grid.first[0] + ARG_PAD_Z,
                                              grid.first[1] + ARG_PAD_Y, grid.first[2] + ARG_PAD_X PASS_ARGS);
        EACH_TILE_OF_RUN(0, tile, CEIL_DIV(PIXELS_OF(grid), TILE_PIXELS)) {
            const index_t first = tile * TILE_PIXELS;
            int places[TILE_PIXELS][3], place[3];
            FUNC(find)(place, first, &grid);
            for (int i = 0; i < TILE_PIXELS; ++i) {
                for (int axis = 0; axis < 3; ++axis) places[i][axis] = place[axis];
                FUNC(step)(place, &grid);
            }
            const int adding = INPUT1_SIZE_2 ? tap_count : 0;
            FUNC(start_sums)(frame_sums(frame), start, adding ? 1 : TILE_PIXELS);
            frame[FIRST_BEGINS] = 1;
            for (int i = 0; i < adding; ++i) {
                FUNC(find_pixels)(rows, places, taps[i].shift PASS_ARGS);
                frame[LEFT_AT] = data;
                frame[RIGHT_AT] = frame[LATER_AT] = taps[i].weights;
                frame[STEP_COUNT] = (INPUT1_SIZE_2 + BLOCK - 1) / BLOCK;
                ADD_PRODUCTS(frame);
                frame[FIRST_BEGINS] = 0;
            }
            FUNC(store_pixels)(output, frame_sums(frame), batch, group * INPUT1_SIZE_1 + channel, places[0], &grid,
                               min((index_t)TILE_PIXELS, PIXELS_OF(grid) - first) PASS_ARGS);
        }
    }
}
