// Convolution on b_fs_yx_fsv16 (or b_fs_zyx_fsv16) data and output, for CPUs.
// One work-item computes tiles of TILE_PIXELS pixels of one row x TILE_BLOCKS blocks of 16 output channels, held in
// float16 registers (tile_runs.h). For every block of input channels and ARG_TAPS columns of a filter row at a
// time it copies the data that the tile reads into `panel`, as floats, with zeros for what lies outside the data; the
// multiplication then needs no checks. With a stride the panel holds pixels 0, S, 2S, ... first, then 1, S+1, ...
// (phases), so that a filter column always reads consecutive pixels of one phase; for a single column phase 0 will do.
// With IN_PLACE floats without a stride are read where they lie, as far as a tile reads nothing outside.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 input x 16 output
// channels (block tails are zero), bias [G * O] in blocks of 16 (the same), factor [B, C, 1, 1, 1] like the data.
// A group consists of JOINED smaller ones, between which the weights are zero; a tile goes through the input channels
// of those that have output channels in it.
// Limits: the phases fill at most PANEL_PIXELS; grouped channels are multiples of 16.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 14
#define TILE_BLOCKS 2
#define PANEL_PIXELS 256
#define JOINED 1
#define ARG_TAPS 3
#define ARG_PHASES 1
#define ARG_PHASE_PIXELS 64
#define ARG_TILES 1
#endif

#include "factor.h"
#include "shared/channel_tiles.h"
#include "shared/spatial.h"
#include "shared/tile_runs.h"

#if HAS_FACTOR
#define FACTORS_PARAMETER const float16 factors,
#define PASS_FACTORS factors,
#define FACTORED(pixel) ((pixel) * factors)
INLINED
#else
#define FACTORS_PARAMETER
#define PASS_FACTORS
#define FACTORED(pixel) (pixel)
#endif
// Copies, times the factors, the pixels from `first` on of the row of data whose pixel 0 has index `row`.
void FUNC(fill_panel)(float* panel, FACTORS_PARAMETER const global INPUT0_TYPE* input, const index_t row,
                      const index_t first ARGS) {
    for (int phase = 0; phase < ARG_PHASES; ++phase) {
        index_t x = first + phase;
        for (int i = 0; i < ARG_PHASE_PIXELS; ++i, x += ARG_STRIDE_X) {
            const bool is_inside = IS_ON_AXIS(x, INPUT0_SIZE_X);
            vstore16(is_inside ? FACTORED(INPUT0_LOAD16(input, row + x * BLOCK)) : (float16)0.0f,
                     phase * ARG_PHASE_PIXELS + i, panel);
        }
    }
}

// The first input channel that a tile reads whose first output channel is `channel`, and the one behind the last.
#define OWN_INPUTS (INPUT1_SIZE_2 / JOINED)
#define OWN_OUTPUTS (INPUT1_SIZE_1 / JOINED)
#define FIRST_INPUT(channel) ((channel) / OWN_OUTPUTS * OWN_INPUTS)
#define END_OF_INPUTS(channel) \
    (CEIL_DIV(min((channel) + TILE_BLOCKS * BLOCK, (index_t)INPUT1_SIZE_1), OWN_OUTPUTS) * OWN_INPUTS)

// Adds the products of the tile whose first pixel is (z, y, x) and whose first output channel is `channel`.
INLINED void FUNC(add_tile)(float16 sum[TILE_PIXELS][TILE_BLOCKS], const index_t* filters,
                            const global INPUT0_TYPE* input, const global INPUT1_TYPE* weights, FACTOR_PARAMETER
                            const index_t batch, const index_t group, const index_t channel, const index_t z,
                            const index_t y, const index_t x ARGS) {
    float panel[PANEL_PIXELS * BLOCK];
    const index_t begin = JOINED == 1 ? 0 : FIRST_INPUT(channel);
    const index_t end = JOINED == 1 ? INPUT1_SIZE_2 : END_OF_INPUTS(channel);
    for (index_t c = begin / BLOCK * BLOCK; c < end; c += BLOCK) {
        const int skipped = JOINED == 1 ? 0 : max(begin - c, (index_t)0);
        const int channels = min((index_t)BLOCK, end - c) - skipped;
#if HAS_FACTOR
        const float16 factors = FACTOR16_OF(batch, group * INPUT1_SIZE_2 + c);
#endif
        for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
            const index_t from_z = z * ARG_STRIDE_Z - ARG_PAD_Z + kz * ARG_DILATION_Z;
            if (!IS_ON_AXIS(from_z, INPUT0_SIZE_Z)) continue;
            for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
                const index_t from_y = y * ARG_STRIDE_Y - ARG_PAD_Y + ky * ARG_DILATION_Y;
                if (!IS_ON_AXIS(from_y, INPUT0_SIZE_Y)) continue;
                const index_t from[MAX_RANK] = {batch, group * INPUT1_SIZE_2 + c, from_z, from_y, 0};
                const index_t row = INPUT0_INDEX_OF(from);
                const index_t filter_row = c / BLOCK * INPUT1_PITCH_2 + kz * INPUT1_PITCH_Z + ky * INPUT1_PITCH_Y;
                for (int first = 0; first < INPUT1_SIZE_X; first += ARG_TAPS) {
                    const index_t from_x = x * ARG_STRIDE_X - ARG_PAD_X + first * ARG_DILATION_X;
#if IN_PLACE
                    const bool is_in_place =
                        ARG_STRIDE_X == 1 && from_x >= 0 && from_x + ARG_PHASE_PIXELS <= INPUT0_SIZE_X;
                    if (!is_in_place)
#endif
                    FUNC(fill_panel)(panel, PASS_FACTORS input, row, from_x PASS_ARGS);
                    for (int kx = first; kx < min(first + (index_t)ARG_TAPS, (index_t)INPUT1_SIZE_X); ++kx) {
                        const int reach = (kx - first) * ARG_DILATION_X;
                        const int phase = reach % ARG_STRIDE_X * ARG_PHASE_PIXELS + reach / ARG_STRIDE_X;
                        const global INPUT1_TYPE* filter =
                            weights + filter_row + kx * INPUT1_PITCH_X + skipped * BLOCK;
#if IN_PLACE
                        if (is_in_place) {
                            FUNC(add_products_in_place)(sum, input + row + (from_x + reach) * BLOCK + skipped,
                                                        filter, filters, channels);
                            continue;
                        }
#endif
                        FUNC(add_products)(sum, panel + phase * BLOCK + skipped, filter, filters, channels);
                    }
                }
            }
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_fsv16)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                          BIAS_PARAMETER FACTOR_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    PLACE_OF_CHANNELS((index_t)get_global_id(1));
    index_t filters[TILE_BLOCKS];
    EACH_TILE_OF_RUN(0, tile, TILES_OF_PICTURE) {
        PLACE_IN_PICTURE(tile);
        float16 sum[TILE_PIXELS][TILE_BLOCKS];
        FUNC(start_tile)(sum, filters, PASS_BIAS group, channel PASS_ARGS);
        FUNC(add_tile)(sum, filters, input, weights, PASS_FACTOR batch, group, channel, z, y, x PASS_ARGS);
        FUNC(store_tile)(output, sum, batch, group, channel, z, y, x, 1 PASS_ARGS);
    }
}
