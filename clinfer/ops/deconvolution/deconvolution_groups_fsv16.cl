// Transposed convolution of groups of GROUP input and as many output channels (1, which is depthwise, 2, 4 or 8) on
// b_fs_yx_fsv16 or b_fs_zyx_fsv16, for CPUs.
// Outputs whose place in the full output leaves the same remainder when divided by the stride (a phase) read the same
// filter elements, and neighbours among them read neighbouring data. One work-item computes tiles (tile_runs.h) of
// TILE_PIXELS pixels of each phase of one row of 16 channels, held in float16 registers; pixels of the data are read
// where they lie.
// Dimension 0: runs of tiles; 1: blocks of channels, batch.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 output channels of all groups,
// bias [G * O] in blocks of 16.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 6
#define GROUP 1
#endif

#include "shared/bias.h"
#include "shared/narrow_groups.h"
#include "shared/spatial.h"
#include "shared/tile_runs.h"

// Whether a filter element of this reach meets `place` of the full output, and where in the data, on its axis or not.
#define IS_MET(place, reach, stride) (((place) - (reach)) % (stride) == 0)
#define SOURCE(place, reach, stride) (((place) - (reach)) / (stride))

#define PIXEL_AT(i) (first + (i))

// Adds the products of one row of the filter, from weight `from` on, with the row of data whose pixel 0 has the index
// `row`, to pixels of which the first has place `place` in the full output.
INLINED void FUNC(add_row)(float16* sum, const global INPUT0_TYPE* input, const index_t row, const index_t place,
                           const global INPUT1_TYPE* weights, const index_t from ARGS) {
    for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
        if (!IS_MET(place, kx * ARG_DILATION_X, ARG_STRIDE_X)) continue;
        const index_t first = SOURCE(place, kx * ARG_DILATION_X, ARG_STRIDE_X), own = from + kx * INPUT1_PITCH_X;
        if (first >= 0 && first + TILE_PIXELS <= INPUT0_SIZE_X) {
            EACH_INPUT(ADD_INPUT)
        } else {
            EACH_INPUT(ADD_INPUT_INSIDE)
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(deconvolution_groups_fsv16)(const global INPUT0_TYPE* restrict input,
                                   const global INPUT1_TYPE* restrict weights,
                                   BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t blocks = CEIL_DIV(OUTPUT0_SIZE_1, BLOCK);
    const index_t batch = (index_t)get_global_id(1) / blocks, channel = (index_t)get_global_id(1) % blocks * BLOCK;
    const index_t start[MAX_RANK] = {channel / GROUP};
    const index_t tiles_of_row = CEIL_DIV((index_t)OUTPUT0_SIZE_X, TILE_PIXELS * ARG_STRIDE_X);
    EACH_TILE_OF_RUN(0, tile, tiles_of_row * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_Z) {
        const index_t line = tile / tiles_of_row, y = line % OUTPUT0_SIZE_Y, z = line / OUTPUT0_SIZE_Y;
        const index_t left = tile % tiles_of_row * TILE_PIXELS * ARG_STRIDE_X;
        for (index_t x = left; x < min((index_t)OUTPUT0_SIZE_X, left + ARG_STRIDE_X); ++x) {
            float16 sum[TILE_PIXELS];
            #pragma unroll
            for (int i = 0; i < TILE_PIXELS; ++i) sum[i] = BIAS16(channel);
            for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
                if (!IS_MET(z + ARG_PAD_Z, kz * ARG_DILATION_Z, ARG_STRIDE_Z)) continue;
                const index_t from_z = SOURCE(z + ARG_PAD_Z, kz * ARG_DILATION_Z, ARG_STRIDE_Z);
                if (!IS_ON_AXIS(from_z, INPUT0_SIZE_Z)) continue;
                for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
                    if (!IS_MET(y + ARG_PAD_Y, ky * ARG_DILATION_Y, ARG_STRIDE_Y)) continue;
                    const index_t from_y = SOURCE(y + ARG_PAD_Y, ky * ARG_DILATION_Y, ARG_STRIDE_Y);
                    if (!IS_ON_AXIS(from_y, INPUT0_SIZE_Y)) continue;
                    const index_t from[MAX_RANK] = {batch, channel, from_z, from_y, 0};
                    const index_t own = INPUT1_INDEX_OF(start) + kz * INPUT1_PITCH_Z + ky * INPUT1_PITCH_Y;
                    FUNC(add_row)(sum, input, INPUT0_INDEX_OF(from), x + ARG_PAD_X, weights, own PASS_ARGS);
                }
            }
            index_t at[MAX_RANK] = {batch, channel, z, y, x};
            const index_t first = OUTPUT0_INDEX_OF(at);
            #pragma unroll
            for (int i = 0; i < TILE_PIXELS; ++i, at[4] += ARG_STRIDE_X)
                if (at[4] < OUTPUT0_SIZE_X) {
                    FUSED_OPS16(sum[i], at, 1)
                    OUTPUT0_STORE16(output, first + i * ARG_STRIDE_X * BLOCK, sum[i]);
                }
        }
    }
}
