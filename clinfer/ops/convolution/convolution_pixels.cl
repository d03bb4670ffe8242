// Convolution of floats (float_products.h) on b_fs_yx_fsv16 (or b_fs_zyx_fsv16) data and output, for x86 CPUs.
// One work-item computes ARG_RUN tiles (tile_runs.h) of pixels x channels (float_pixels.h), of which ARG_TILES lie side
// by side in a group. All data is read where it lies: a table tells for each element of the filter where each pixel
// finds its own; what lies outside of the data is one row of zeros. The first and the last elements are left out where
// all pixels of a tile find nothing but zeros.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 input x 16 output channels (block
// tails are zero), bias [G * O] in blocks of 16 (the same).
// Limits: a group's input channels fill blocks of 16 but for the last one, of which there may be half; grouped output
// channels are multiples of 16; vectors of 8 floats.
#include "clinfer.cl"

#ifndef FILTER_TAPS
#define FILTER_TAPS 1
#define ARG_TILES 1
#endif

#define LEAVES_TAPS_OUT 1
#include "shared/float_pixels.h"

#define TAP_WEIGHT_BYTES (BLOCK * BLOCK * sizeof(float))

// Where a pixel finds the data of each element of the filter, in bytes behind that of the picture's first pixel: every
// TILE_PIXELS-th number of `taps`.
INLINED void FUNC(find_pixel)(ulong* taps, const int* place ARGS) {
    const int from_z = place[0] * ARG_STRIDE_Z - ARG_PAD_Z, from_y = place[1] * ARG_STRIDE_Y - ARG_PAD_Y;
    const int from_x = place[2] * ARG_STRIDE_X - ARG_PAD_X;
    for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
        const int in_z = from_z + kz * ARG_DILATION_Z;
        for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
            const int in_y = from_y + ky * ARG_DILATION_Y;
            const bool is_row = IS_ON_AXIS(in_z, INPUT0_SIZE_Z) && IS_ON_AXIS(in_y, INPUT0_SIZE_Y);
            const long row = (long)in_z * INPUT0_PITCH_Z + (long)in_y * INPUT0_PITCH_Y;
            #pragma clang loop vectorize(disable)
            for (int kx = 0; kx < INPUT1_SIZE_X; ++kx, taps += TILE_PIXELS) {
                const int in_x = from_x + kx * ARG_DILATION_X;
                *taps = is_row && IS_ON_AXIS(in_x, INPUT0_SIZE_X) ? (row + in_x * BLOCK) * sizeof(float) : -1UL;
            }
        }
    }
}

// The same of all pixels of a tile in one row, none of which reads outside of the data, in bytes behind where the first
// one begins to read.
INLINED void FUNC(find_row)(ulong* taps ARGS) {
    for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz)
        for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky)
            #pragma clang loop vectorize(disable)
            for (int kx = 0; kx < INPUT1_SIZE_X; ++kx, taps += TILE_PIXELS) {
                const long place = (long)kz * ARG_DILATION_Z * INPUT0_PITCH_Z +
                                   (long)ky * ARG_DILATION_Y * INPUT0_PITCH_Y + kx * ARG_DILATION_X * BLOCK;
                for (int i = 0; i < TILE_PIXELS; ++i) taps[i] = (place + i * ARG_STRIDE_X * BLOCK) * sizeof(float);
            }
}

// Whether a pixel of the tile finds data for an element of the filter.
INLINED bool FUNC(is_read)(const ulong* tap) {
    bool found = false;
    for (int i = 0; i < TILE_PIXELS; ++i) found |= tap[i] != -1UL;
    return found;
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_pixels)(const global float* restrict input, const global float* restrict weights,
                           BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int other = (int)get_global_id(1);
    const index_t batch = other / (ARG_TILES * INPUT1_SIZE_0), group = other / ARG_TILES % INPUT1_SIZE_0;
    const index_t channel = other % ARG_TILES * BLOCK;
    const index_t filter[MAX_RANK] = {group, channel};
    const int steps = (INPUT1_SIZE_2 + BLOCK - 1) / BLOCK;
    const FUNC(pixel_grid) grid = EACH_PIXEL;
    ulong taps[FILTER_TAPS * TILE_PIXELS], taps_of_row[FILTER_TAPS * TILE_PIXELS];
    FUNC(find_row)(taps_of_row PASS_ARGS);
    FRAME(frame);
    float16 start[TILE_BLOCKS];
    FUNC(begin_tiles)(frame, start, PASS_BIAS group, channel PASS_ARGS);
    frame[FIRST_BEGINS] = 1;
    EACH_TILE_OF_RUN(0, tile, CEIL_DIV(PIXELS_OF(grid), TILE_PIXELS)) {
        const index_t first = tile * TILE_PIXELS;
        int begins[3], place[3];
        FUNC(find)(begins, first, &grid);
        const int x = begins[2], from_z = begins[0] * ARG_STRIDE_Z - ARG_PAD_Z;
        const int from_y = begins[1] * ARG_STRIDE_Y - ARG_PAD_Y, from_x = x * ARG_STRIDE_X - ARG_PAD_X;
        const bool is_row = x + TILE_PIXELS <= OUTPUT0_SIZE_X && from_z >= 0 && from_y >= 0 && from_x >= 0 &&
            LAST_READ(from_z, Z) < INPUT0_SIZE_Z && LAST_READ(from_y, Y) < INPUT0_SIZE_Y &&
            LAST_READ(from_x + (TILE_PIXELS - 1) * ARG_STRIDE_X, X) < INPUT0_SIZE_X;
        for (int axis = 0; axis < 3; ++axis) place[axis] = begins[axis];
        for (int i = 0; i < (is_row ? 0 : TILE_PIXELS); ++i) {
            FUNC(find_pixel)(taps + i, place PASS_ARGS);
            FUNC(step)(place, &grid);
        }
        const ulong* places = is_row ? taps_of_row : taps;
        int first_tap = 0, end_tap = FILTER_TAPS;
        while (end_tap > 0 && !FUNC(is_read)(places + (end_tap - 1) * TILE_PIXELS)) --end_tap;
        while (first_tap < end_tap && !FUNC(is_read)(places + first_tap * TILE_PIXELS)) ++first_tap;
        frame[TAPS_AT] = (ulong)(places + first_tap * TILE_PIXELS);
        frame[TAPS_END] = (ulong)(places + end_tap * TILE_PIXELS);
        frame[LEFT_OUT] = (FILTER_TAPS - (end_tap - first_tap)) * TAP_WEIGHT_BYTES;
        index_t begin[MAX_RANK] = {batch, group * INPUT1_SIZE_2, 0, 0, 0};
        if (is_row) begin[2] = from_z, begin[3] = from_y, begin[4] = from_x;
        frame[LEFT_AT] = (ulong)(input + INPUT0_INDEX_OF(begin));
        const ulong columns = (ulong)(weights + INPUT1_INDEX_OF(filter));
        frame[RIGHT_AT] = columns + first_tap * TAP_WEIGHT_BYTES;
        frame[STEP_COUNT] = steps;
        frame[LATER_AT] = columns + (8 + tile % 8) * steps * FILTER_TAPS * LATER_BYTES;
        const bool adds = steps && first_tap < end_tap;
        FUNC(start_sums)(frame_sums(frame), start, adds ? 1 : TILE_PIXELS);
        if (adds) ADD_PRODUCTS(frame);
        FUNC(store_pixels)(output, frame_sums(frame), batch, group * INPUT1_SIZE_1 + channel, begins,
                           &grid, min((index_t)TILE_PIXELS, PIXELS_OF(grid) - first) PASS_ARGS);
    }
}
