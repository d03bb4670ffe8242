// Transposed convolution on b_fs_yx_fsv16 (or b_fs_zyx_fsv16) data and output, for CPUs.
// Outputs whose place in the full output leaves the same remainder when divided by the stride (a phase) read
// the same filter elements, and neighbours among them read neighbouring data: each phase of a row is an ordinary
// convolution. One work-item computes one tile after the other, TILE_PIXELS pixels of each phase of one row x
// TILE_BLOCKS blocks of 16 output channels, held in float16 registers. For every block of input channels and every
// filter row it copies the data that the tile reads into `panel`, as floats, with zeros for what lies outside the
// data; the multiplication then needs no checks.
// Dimension 0: tiles of a row; 1: rows; 2: batch, groups, tiles of channels.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 input x 16 output
// channels (block tails are zero), bias [G * O] in blocks of 16 (the same).
// Limits: a tile reads at most PANEL_PIXELS pixels of a row; grouped channels are multiples of 16.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 14
#define TILE_BLOCKS 2
#define PANEL_PIXELS 64
#define ARG_REACH 0
#define ARG_TILES 1
#endif

#include "shared/channel_tiles.h"
#include "shared/spatial.h"

// Copies the pixels from `first` on of the row of data whose pixel 0 has index `row`.
void FUNC(fill_panel)(float* panel, const global INPUT0_TYPE* input, const index_t row, const index_t first ARGS) {
    for (int i = 0; i < TILE_PIXELS + ARG_REACH; ++i) {
        const bool is_inside = IS_ON_AXIS(first + i, INPUT0_SIZE_X);
        vstore16(is_inside ? INPUT0_LOAD16(input, row + (first + i) * BLOCK) : (float16)0.0f, i, panel);
    }
}

// Whether a filter element reaches `place` from an element of the data: then (place - reach) / stride.
#define HITS(place, reach, stride, size) ((place) >= (reach) && ((place) - (reach)) % (stride) == 0 \
                                          && ((place) - (reach)) / (stride) < (size))

// Adds all products of the tile whose first output is (z, y, x).
INLINED void FUNC(add_all)(float16 sum[TILE_PIXELS][TILE_BLOCKS], const global INPUT0_TYPE* input,
                           const global INPUT1_TYPE* weights, const index_t* filters, const index_t batch,
                           const index_t group, const index_t z, const index_t y, const index_t x ARGS) {
    const index_t place_x = x + ARG_PAD_X, place_y = y + ARG_PAD_Y, place_z = z + ARG_PAD_Z;
    const int phase = place_x % ARG_STRIDE_X;
    const index_t left = place_x / ARG_STRIDE_X - ARG_REACH;
    float panel[PANEL_PIXELS * BLOCK];
    for (index_t c = 0; c < INPUT1_SIZE_2; c += BLOCK) {
        const int channels = min((index_t)BLOCK, INPUT1_SIZE_2 - c);
        for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
            if (!HITS(place_z, kz * ARG_DILATION_Z, ARG_STRIDE_Z, INPUT0_SIZE_Z)) continue;
            for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
                if (!HITS(place_y, ky * ARG_DILATION_Y, ARG_STRIDE_Y, INPUT0_SIZE_Y)) continue;
                const index_t from[MAX_RANK] = {batch, group * INPUT1_SIZE_2 + c,
                                            (place_z - kz * ARG_DILATION_Z) / ARG_STRIDE_Z,
                                            (place_y - ky * ARG_DILATION_Y) / ARG_STRIDE_Y, 0};
                FUNC(fill_panel)(panel, input, INPUT0_INDEX_OF(from), left PASS_ARGS);
                const index_t tap = c / BLOCK * INPUT1_PITCH_2 + kz * INPUT1_PITCH_Z + ky * INPUT1_PITCH_Y;
                for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
                    const int reach = kx * ARG_DILATION_X;
                    if (reach % ARG_STRIDE_X != phase) continue;
                    const float* pixels = panel + (ARG_REACH - reach / ARG_STRIDE_X) * BLOCK;
                    const global INPUT1_TYPE* filter = weights + tap + kx * INPUT1_PITCH_X;
                    FUNC(add_products)(sum, pixels, filter, filters, channels);
                }
            }
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(deconvolution_fsv16)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                            BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t y = (index_t)get_global_id(1) % OUTPUT0_SIZE_Y, z = (index_t)get_global_id(1) / OUTPUT0_SIZE_Y;
    PLACE_OF_CHANNELS((index_t)get_global_id(2));
    const index_t first = (index_t)get_global_id(0) * TILE_PIXELS * ARG_STRIDE_X;
    for (index_t x = first; x < min(OUTPUT0_SIZE_X, first + ARG_STRIDE_X); ++x) {
        index_t filters[TILE_BLOCKS];
        float16 sum[TILE_PIXELS][TILE_BLOCKS];
        FUNC(start_tile)(sum, filters, PASS_BIAS group, channel PASS_ARGS);
        FUNC(add_all)(sum, input, weights, filters, batch, group, z, y, x PASS_ARGS);
        FUNC(store_tile)(output, sum, batch, group, channel, z, y, x, ARG_STRIDE_X PASS_ARGS);
    }
}
