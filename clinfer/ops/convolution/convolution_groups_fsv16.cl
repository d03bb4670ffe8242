// Convolution of groups of GROUP input and as many output channels (1, which is depthwise, 2, 4 or 8) on
// b_fs_yx_fsv16 or b_fs_zyx_fsv16, for CPUs.
// One work-item computes tiles of TILE_PIXELS pixels of one row of 16 channels, held in float16 registers
// (tile_runs.h). An input channel of each group is multiplied at a time: LANES gives the channels of a pixel the n-th
// one of their groups. Pixels of the data are read where they lie; only tiles whose filter crosses a border check each
// pixel. FILTER_X and STRIDE_X, unless 0, are known: then a row of the filter lies in registers, and each pixel of the
// data is read once for all of it (GROUP 1, no dilation along x).
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 output channels of all groups,
// bias [G * O] in blocks of 16.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 8
#define GROUP 1
#define FILTER_X 0
#define STRIDE_X 0
#endif

#include "shared/bias.h"
#include "shared/narrow_groups.h"
#include "shared/spatial.h"
#include "shared/tile_runs.h"

#if FILTER_X
// Adds the products of one row of the filter, from weight `own` on, with the row of data whose pixel 0 has the index
// `row`, from pixel `left` on; without `is_inside` pixels may lie outside.
INLINED void FUNC(add_row)(float16* sum, const global INPUT0_TYPE* input, const index_t row, const index_t left,
                           const global INPUT1_TYPE* weights, const index_t own, const bool is_inside ARGS) {
    float16 weight[FILTER_X];
    #pragma unroll
    for (int kx = 0; kx < FILTER_X; ++kx)
        weight[kx] = convert_float16(INPUT1_LOAD16(weights, own + kx * INPUT1_PITCH_X));
    #pragma unroll
    for (int i = 0; i < (TILE_PIXELS - 1) * STRIDE_X + FILTER_X; ++i) {
        float16 pixel = 0.0f;
        if (is_inside || IS_ON_AXIS(left + i, INPUT0_SIZE_X)) pixel = INPUT0_LOAD16(input, row + (left + i) * BLOCK);
        #pragma unroll
        for (int kx = i % STRIDE_X; kx < FILTER_X; kx += STRIDE_X)
            if (kx <= i && i - kx < TILE_PIXELS * STRIDE_X)
                sum[(i - kx) / STRIDE_X] = fma(pixel, weight[kx], sum[(i - kx) / STRIDE_X]);
    }
}
#else
#define PIXEL_AT(i) (first + (i) * ARG_STRIDE_X)

// The same; `from` is the weight of the row's first element.
INLINED void FUNC(add_row)(float16* sum, const global INPUT0_TYPE* input, const index_t row, const index_t left,
                           const global INPUT1_TYPE* weights, const index_t from, const bool is_inside ARGS) {
    for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
        const index_t first = left + kx * ARG_DILATION_X, own = from + kx * INPUT1_PITCH_X;
        if (is_inside) {
            EACH_INPUT(ADD_INPUT)
        } else {
            EACH_INPUT(ADD_INPUT_INSIDE)
        }
    }
}
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_groups_fsv16)(const global INPUT0_TYPE* restrict input,
                                 const global INPUT1_TYPE* restrict weights,
                                 BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t blocks = CEIL_DIV(OUTPUT0_SIZE_1, BLOCK);
    const index_t batch = (index_t)get_global_id(1) / blocks, channel = (index_t)get_global_id(1) % blocks * BLOCK;
    const index_t start[MAX_RANK] = {channel / GROUP};
    EACH_TILE_OF_RUN(0, tile, TILES_OF_PICTURE) {
        PLACE_IN_PICTURE(tile);
        float16 sum[TILE_PIXELS];
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i) sum[i] = BIAS16(channel);

        const index_t left = x * ARG_STRIDE_X - ARG_PAD_X;
        const index_t right = left + (TILE_PIXELS - 1) * ARG_STRIDE_X + (INPUT1_SIZE_X - 1) * ARG_DILATION_X;
        const bool is_inside = left >= 0 && right < INPUT0_SIZE_X;
        for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
            const index_t from_z = z * ARG_STRIDE_Z - ARG_PAD_Z + kz * ARG_DILATION_Z;
            if (!IS_ON_AXIS(from_z, INPUT0_SIZE_Z)) continue;
            for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
                const index_t from_y = y * ARG_STRIDE_Y - ARG_PAD_Y + ky * ARG_DILATION_Y;
                if (!IS_ON_AXIS(from_y, INPUT0_SIZE_Y)) continue;
                const index_t from[MAX_RANK] = {batch, channel, from_z, from_y, 0};
                const index_t own = INPUT1_INDEX_OF(start) + kz * INPUT1_PITCH_Z + ky * INPUT1_PITCH_Y;
                if (is_inside)
                    FUNC(add_row)(sum, input, INPUT0_INDEX_OF(from), left, weights, own, true PASS_ARGS);
                else
                    FUNC(add_row)(sum, input, INPUT0_INDEX_OF(from), left, weights, own, false PASS_ARGS);
            }
        }

        index_t at[MAX_RANK] = {batch, channel, z, y, x};
        const index_t first = OUTPUT0_INDEX_OF(at);
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i, ++at[4])
            if (x + i < OUTPUT0_SIZE_X) {
                FUSED_OPS16(sum[i], at, 1)
                OUTPUT0_STORE16(output, first + i * BLOCK, sum[i]);
            }
    }
}
