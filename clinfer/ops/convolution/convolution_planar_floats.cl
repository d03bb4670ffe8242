// Convolution of floats (float_products.h) from planar data to b_fs_yx_fsv16 (or b_fs_zyx_fsv16), for x86 CPUs.
// One work-item computes ARG_RUN tiles (tile_runs.h) of pixels (float_pixels.h) for all output channels. What a pixel
// multiplies is copied into a row, in the order of the weights, with zeros for what lies outside of the data; then each
// block of 16 output channels is a product of these rows.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 output channels (block tails are
// zero) with G = 1, bias [O] in blocks of 16.
// Limits: a pixel multiplies DEPTH values, LAST_VALUES of them in a last step that is not full; rows of the filter have
// FILTER_X elements, at most COPIED (4, 8 or a multiple of 16); vectors of 8 floats.
#include "clinfer.cl"

#ifndef DEPTH
#define DEPTH 27
#define FILTER_X 3
#define COPIED 4
#define LAST_VALUES 11
#endif

#include "shared/float_pixels.h"

// Of a row: there is room for what is copied with the last elements.
#define ROW_VALUES ((DEPTH + COPIED + 15) / 16 * 16)
#define COPY_OF_(n, to, from) vstore##n(vload##n(0, from), 0, to)
#define COPY_OF(n, to, from) COPY_OF_(n, to, from)
#if COPIED > 16
#define COPY(to, from) \
    for (int part_ = 0; part_ < COPIED; part_ += 16) COPY_OF_(16, (to) + part_, (from) + part_)
#else
#define COPY(to, from) COPY_OF(COPIED, to, from)
#endif

// Whether the elements from x on that are copied at a time lie within a row of data.
#define IS_WITHIN(x) (ARG_DILATION_X == 1 && (x) >= 0 && (x) + COPIED <= INPUT0_SIZE_X)

// Copies what a pixel multiplies whose filter begins at `from`.
INLINED void FUNC(copy_pixel)(float* to, const global float* input, const index_t batch, const int* from ARGS) {
    for (int c = 0; c < INPUT1_SIZE_2; ++c)
        for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz)
            for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky, to += FILTER_X) {
                const int z = from[0] + kz * ARG_DILATION_Z, y = from[1] + ky * ARG_DILATION_Y;
                const bool is_row = IS_ON_AXIS(z, INPUT0_SIZE_Z) && IS_ON_AXIS(y, INPUT0_SIZE_Y);
                const index_t at[MAX_RANK] = {batch, c, z, y, 0};
                const global float* row = input + INPUT0_INDEX_OF(at);
                if (is_row && IS_WITHIN(from[2])) {
                    COPY(to, row + from[2]);
                    continue;
                }
                for (int kx = 0; kx < FILTER_X; ++kx) {
                    const int x = from[2] + kx * ARG_DILATION_X;
                    to[kx] = is_row && IS_ON_AXIS(x, INPUT0_SIZE_X) ? row[x] : 0.0f;
                }
            }
}

// The same of all pixels of a tile in one row, none of which reads outside of the data.
INLINED void FUNC(copy_row)(float* to, const global float* input, const index_t batch, const int* from ARGS) {
    for (int c = 0; c < INPUT1_SIZE_2; ++c)
        for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz)
            for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky, to += FILTER_X) {
                const index_t at[MAX_RANK] = {batch, c, from[0] + kz * ARG_DILATION_Z, from[1] + ky * ARG_DILATION_Y,
                                              from[2]};
                const global float* row = input + INPUT0_INDEX_OF(at);
                #pragma unroll
                for (int i = 0; i < TILE_PIXELS; ++i) COPY(to + i * ROW_VALUES, row + i * ARG_STRIDE_X);
            }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_planar_floats)(const global float* restrict input, const global float* restrict weights,
                                  BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t batch = get_global_id(1);
    const int strides[3] = {ARG_STRIDE_Z, ARG_STRIDE_Y, ARG_STRIDE_X}, pads[3] = {ARG_PAD_Z, ARG_PAD_Y, ARG_PAD_X};
    const FUNC(pixel_grid) grid = EACH_PIXEL;
    float rows[TILE_PIXELS * ROW_VALUES];
    ulong taps[TAP_NUMBERS];
    FRAME(frame);
    READ_ONCE(frame, taps, ROW_VALUES * sizeof(float), TILE_PIXELS - 1);
    frame[STEP_BYTES] = STEP_DEPTH * sizeof(float);
    frame[HALF_AT] = DEPTH % STEP_DEPTH > 0;
    frame[FIRST_BEGINS] = 1;
    EACH_TILE_OF_RUN(0, tile, CEIL_DIV(PIXELS_OF(grid), TILE_PIXELS)) {
        const index_t first = tile * TILE_PIXELS;
        int begins[3], place[3], from[3];
        FUNC(find)(begins, first, &grid);
        for (int axis = 0; axis < 3; ++axis) from[axis] = begins[axis] * strides[axis] - pads[axis];
        const bool is_row = begins[2] + TILE_PIXELS <= OUTPUT0_SIZE_X && from[0] >= 0 && from[1] >= 0 &&
            LAST_READ(from[0], Z) < INPUT0_SIZE_Z && LAST_READ(from[1], Y) < INPUT0_SIZE_Y && IS_WITHIN(from[2]) &&
            IS_WITHIN(from[2] + (TILE_PIXELS - 1) * ARG_STRIDE_X);
        if (is_row) FUNC(copy_row)(rows, input, batch, from PASS_ARGS);
        for (int axis = 0; axis < 3; ++axis) place[axis] = begins[axis];
        for (int i = 0; i < (is_row ? 0 : TILE_PIXELS); ++i) {
            for (int axis = 0; axis < 3; ++axis) from[axis] = place[axis] * strides[axis] - pads[axis];
            FUNC(copy_pixel)(rows + i * ROW_VALUES, input, batch, from PASS_ARGS);
            FUNC(step)(place, &grid);
        }
        for (index_t channel = 0; channel < OUTPUT0_SIZE_1; channel += BLOCK) {
            const index_t filter[MAX_RANK] = {0, channel};
            frame[LEFT_AT] = (ulong)rows;
            frame[RIGHT_AT] = frame[LATER_AT] = (ulong)(weights + INPUT1_INDEX_OF(filter));
            frame[STEP_COUNT] = (DEPTH + STEP_DEPTH - 1) / STEP_DEPTH;
            vstore16(BIAS16(channel), 0, frame_sums(frame));
            ADD_PRODUCTS(frame);
            for (int axis = 0; axis < 3; ++axis) place[axis] = begins[axis];
            FUNC(store_pixels)(output, frame_sums(frame), batch, channel, place, &grid,
                               min((index_t)TILE_PIXELS, PIXELS_OF(grid) - first) PASS_ARGS);
        }
    }
}
