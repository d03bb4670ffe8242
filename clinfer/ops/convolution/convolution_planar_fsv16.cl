// Convolution from planar data to b_fs_yx_fsv16 (or b_fs_zyx_fsv16) or planar data, for CPUs.
// One work-item computes TILE_PIXELS pixels of one row for all output channels. It copies every row of data
// that these pixels read (one per input channel and filter row) into `panel`, as floats, with zeros for what
// lies outside the data. Then it computes one block of 16 output channels after the other, held in float16
// registers.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 output channels (block
// tails are zero) with G = 1, bias [O] in blocks of 16.
// Limits: the rows, of ARG_ROW_PIXELS pixels each (a multiple of 16), fill PANEL_PIXELS.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 14
#define PANEL_PIXELS 4096
#define STRIDE_X 1
#define ARG_ROW_PIXELS 64
#endif

#include "shared/bias.h"
#include "shared/channel_block.h"
#include "shared/spatial.h"

// Copies one row: the pixels from `first` on of the row of data whose pixel 0 has index `row`.
void FUNC(fill_row)(float* panel, const global INPUT0_TYPE* input, const index_t row, const index_t first ARGS) {
    for (int chunk = 0; chunk < ARG_ROW_PIXELS; chunk += 16) {
        const index_t x = first + chunk;
        if (x >= 0 && x + 16 <= INPUT0_SIZE_X) {
            vstore16(INPUT0_LOAD16(input, row + x), 0, panel + chunk);
        } else {
            for (int i = 0; i < 16; ++i)
                panel[chunk + i] = IS_ON_AXIS(x + i, INPUT0_SIZE_X) ? INPUT0_LOAD(input, row + x + i) : 0.0f;
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_planar_fsv16)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                                 BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t x = (index_t)get_global_id(0) * TILE_PIXELS;
    const index_t y = (index_t)get_global_id(1) % OUTPUT0_SIZE_Y, z = (index_t)get_global_id(1) / OUTPUT0_SIZE_Y;
    const index_t batch = get_global_id(2);

    float panel[PANEL_PIXELS];
    float* panel_row = panel;
    for (index_t c = 0; c < INPUT0_SIZE_1; ++c) {
        for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
            const index_t from_z = z * ARG_STRIDE_Z - ARG_PAD_Z + kz * ARG_DILATION_Z;
            for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky, panel_row += ARG_ROW_PIXELS) {
                const index_t from_y = y * ARG_STRIDE_Y - ARG_PAD_Y + ky * ARG_DILATION_Y;
                const index_t from[MAX_RANK] = {batch, c, from_z, from_y, 0};
                if (IS_ON_AXIS(from_z, INPUT0_SIZE_Z) && IS_ON_AXIS(from_y, INPUT0_SIZE_Y))
                    FUNC(fill_row)(panel_row, input, INPUT0_INDEX_OF(from), x * STRIDE_X - ARG_PAD_X PASS_ARGS);
                else
                    for (int i = 0; i < ARG_ROW_PIXELS; i += 16) vstore16((float16)0.0f, 0, panel_row + i);
            }
        }
    }

    for (index_t channel = 0; channel < OUTPUT0_SIZE_1; channel += BLOCK) {
        const float16 start = BIAS16(channel);
        float16 sum[TILE_PIXELS];
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i) sum[i] = start;

        const index_t filter_at[MAX_RANK] = {0, channel};
        const global INPUT1_TYPE* filter = weights + INPUT1_INDEX_OF(filter_at);
        for (const float* row = panel; row < panel_row; row += ARG_ROW_PIXELS) {
            for (int kx = 0; kx < INPUT1_SIZE_X; ++kx, filter += BLOCK) {
                const float* pixels = row + kx * ARG_DILATION_X;
                const float16 weight = convert_float16(INPUT1_LOAD16(filter, 0));
                #pragma unroll
                for (int i = 0; i < TILE_PIXELS; ++i) sum[i] = fma((float16)pixels[i * STRIDE_X], weight, sum[i]);
            }
        }

        index_t at[MAX_RANK] = {batch, channel, z, y, x};
        FUNC(store_block)(output, sum, at, min(OUTPUT0_SIZE_1 - channel, (index_t)BLOCK), 1 PASS_ARGS);
    }
}
