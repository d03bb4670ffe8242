// Convolution of bf16 or, with TILES_OF_FLOATS, of floats (float_products.h) on b_fs_yx_fsv16 (or b_fs_zyx_fsv16) data
// and output, for x86 CPUs.
// One work-item computes tiles of TILE_PIXELS pixels of one row x 2 blocks of 16 output channels, with VECTOR_FLOATS 8
// one block: ARG_RUN tiles of pixels one behind another (tile_runs.h), and of each of them ARG_ACROSS tiles of
// channels. A step is a block of input channels. A tile that is full and reads nothing outside of the data reads it
// where it lies, if it has the channels of whole or half blocks. What others read is copied into `patch`, as many
// channels at a time as fit, with zeros outside of the data and behind the last channel, and times the factors; if all
// fit, for all of its tiles of channels.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] with, for each block of 16 outputs x 16 inputs, 8
// pairs of inputs x 16 outputs x 2, of floats 16 inputs x 16 outputs (block tails are zero), bias [G * O] in blocks of
// 16 (the same), factor [B, C, 1, 1, 1] like the data.
// Limits: what a tile reads of a block of channels has at most PATCH_PIXELS; grouped channels are multiples of 16.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 14
#define PATCH_PIXELS 1024
#define FILTER_TAPS 256
#define ARG_ROW_PIXELS 64
#define ARG_TILES 1
#define ARG_ACROSS 1
#define VECTOR_FLOATS 16
#endif
#define TILE_BLOCKS (VECTOR_FLOATS / 8)
#define TILE_ROWS TILE_PIXELS

#include "factor.h"
#include "shared/channel_tiles.h"
#include "shared/spatial.h"
#include "shared/float_products.h"
#include "shared/tile_runs.h"

#define FILTER_ROWS (INPUT1_SIZE_Z * INPUT1_SIZE_Y)
#define CHANNEL_BYTES (BLOCK * sizeof(TILE_VALUE))
#define BLOCKS_OF_INPUT ((INPUT1_SIZE_2 + BLOCK - 1) / BLOCK)
#define LAST_BLOCK (INPUT1_SIZE_2 % BLOCK)
#define LAST_IS_HALF (STEPS_HALVE && LAST_BLOCK > 0 && LAST_BLOCK <= BLOCK / 2)
#define FILLS_STEPS (LAST_BLOCK == 0 || (STEPS_HALVE && LAST_BLOCK == BLOCK / 2))

// How far, in bytes, the data of each element of the filter lies behind that of the first, given the distances of rows;
// of all pixels, where tiles ask for these.
void FUNC(find_taps)(ulong* taps, const long z_pitch, const long y_pitch ARGS) {
    for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz)
        for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky)
            #pragma clang loop vectorize(disable)
            for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
                const ulong place = (kz * z_pitch + ky * y_pitch + kx * ARG_DILATION_X * BLOCK) * sizeof(TILE_VALUE);
                SET_TAP(taps, place, ARG_STRIDE_X * CHANNEL_BYTES, TILE_ROWS - 1);
                taps += TAP_NUMBERS;
            }
}

// One row of the patch: 16 channels, of which `channels` exist, of pixels from x on.
void FUNC(copy_row)(TILE_VALUE* patch, const global TILE_VALUE* row, const int x, const float16 factors,
                    const int channels ARGS) {
    const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#if !HAS_FACTOR
    if (channels >= BLOCK) {
        const int first = clamp(-x, 0, ARG_ROW_PIXELS), last = clamp((int)INPUT0_SIZE_X - x, first, ARG_ROW_PIXELS);
        for (int i = 0; i < first; ++i) vstore16((TILE_VALUE16)0, i, patch);
        for (int i = first; i < last; ++i) vstore16(vload16(x + i, row), i, patch);
        for (int i = last; i < ARG_ROW_PIXELS; ++i) vstore16((TILE_VALUE16)0, i, patch);
        return;
    }
#endif
    for (int i = 0; i < ARG_ROW_PIXELS; ++i) {
        TILE_VALUE16 pixel = 0;
        if ((uint)(x + i) < (uint)INPUT0_SIZE_X) {
            pixel = vload16(x + i, row);
#if HAS_FACTOR
            pixel = TO_TILE_VALUE16(OF_TILE_VALUE16(pixel) * factors);
#endif
            if (channels < BLOCK) pixel = select((TILE_VALUE16)0, pixel, TILE_MASK16(lanes < channels));
        }
        vstore16(pixel, i, patch);
    }
}

// Copies `count` blocks of channels from block `first` of the group on, whose first channel is `channel`, for the tile
// whose data begins at these coordinates.
void FUNC(fill_patch)(TILE_VALUE* patch, const global TILE_VALUE* input, FACTOR_PARAMETER const index_t batch,
                      const index_t channel, const int first, const int count, const int from_z, const int from_y,
                      const int from_x ARGS) {
    const int row_size = ARG_ROW_PIXELS * BLOCK;
    for (int c = first * BLOCK; c < (first + count) * BLOCK; c += BLOCK) {
        float16 factors = 1.0f;
#if HAS_FACTOR
        factors = FACTOR16_OF(batch, channel + c);
#endif
        for (int row = 0; row < FILTER_ROWS; ++row, patch += row_size) {
            const int in_z = from_z + row / INPUT1_SIZE_Y * ARG_DILATION_Z;
            const int in_y = from_y + row % INPUT1_SIZE_Y * ARG_DILATION_Y;
            const int from[MAX_RANK] = {batch, channel + c, in_z, in_y, 0};
            if ((uint)in_z < (uint)INPUT0_SIZE_Z && (uint)in_y < (uint)INPUT0_SIZE_Y)
                FUNC(copy_row)(patch, input + INPUT0_INDEX_OF(from), from_x, factors, INPUT1_SIZE_2 - c PASS_ARGS);
            else
                for (int i = 0; i < ARG_ROW_PIXELS; ++i) vstore16((TILE_VALUE16)0, i, patch);
        }
    }
}

// Applies the fused operations to sums [TILE_PIXELS][TILE_BLOCKS * BLOCK] and stores those of pixels and blocks that
// exist, from output channel `channel` of a group and pixel x on.
INLINED void FUNC(store_pixels)(global OUTPUT0_TYPE* output, const float* sums, const index_t batch,
                                const index_t group, const index_t channel, const index_t z, const index_t y,
                                const index_t x ARGS) {
    const int pixels = min((index_t)TILE_PIXELS, (index_t)OUTPUT0_SIZE_X - x);
    for (int j = 0; j < TILE_BLOCKS && channel + j * BLOCK < INPUT1_SIZE_1; ++j) {
        index_t at[MAX_RANK] = {batch, group * INPUT1_SIZE_1 + channel + j * BLOCK, z, y, x};
        const index_t first = OUTPUT0_INDEX_OF(at);
        #pragma unroll 1
        for (int i = 0; i < pixels; ++i, ++at[4]) {
            OUTPUT0_COMPUTE16 result = vload16(i * TILE_BLOCKS + j, sums);
            FUSED_OPS16(result, at, 1)
            OUTPUT0_STORE16(output, first + i * BLOCK, result);
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_floats)(const global TILE_VALUE* restrict input, const global TILE_VALUE* restrict weights,
                         BIAS_PARAMETER FACTOR_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int runs_across = CEIL_DIV(ARG_TILES, ARG_ACROSS), place = (int)get_global_id(1);
    const index_t batch = place / (runs_across * INPUT1_SIZE_0), group = place / runs_across % INPUT1_SIZE_0;
    const int first_across = place % runs_across * ARG_ACROSS, end_across = min(first_across + ARG_ACROSS, ARG_TILES);
    ulong taps_of_data[FILTER_TAPS * TAP_NUMBERS], taps_of_patch[FILTER_TAPS * TAP_NUMBERS];
    FUNC(find_taps)(taps_of_data, ARG_DILATION_Z * INPUT0_PITCH_Z, ARG_DILATION_Y * INPUT0_PITCH_Y PASS_ARGS);
    FUNC(find_taps)(taps_of_patch, INPUT1_SIZE_Y * ARG_ROW_PIXELS * BLOCK, ARG_ROW_PIXELS * BLOCK PASS_ARGS);
    TILE_VALUE patch[PATCH_PIXELS * BLOCK];
    FRAME(frame);
    frame[ROW_BYTES] = ARG_STRIDE_X * CHANNEL_BYTES;
    EACH_TILE_OF_RUN(0, tile, TILES_OF_PICTURE) {
        PLACE_IN_PICTURE(tile);
        const int from_z = z * ARG_STRIDE_Z - ARG_PAD_Z, from_y = y * ARG_STRIDE_Y - ARG_PAD_Y;
        const int from_x = x * ARG_STRIDE_X - ARG_PAD_X;
        const bool is_in_place = FILLS_STEPS && !HAS_FACTOR &&
            from_z >= 0 && from_z + (INPUT1_SIZE_Z - 1) * ARG_DILATION_Z < INPUT0_SIZE_Z &&
            from_y >= 0 && from_y + (INPUT1_SIZE_Y - 1) * ARG_DILATION_Y < INPUT0_SIZE_Y &&
            from_x >= 0 && from_x + ARG_ROW_PIXELS <= INPUT0_SIZE_X;
        const int from[MAX_RANK] = {batch, group * INPUT1_SIZE_2, from_z, from_y, from_x};
        const ulong* taps = is_in_place ? taps_of_data : taps_of_patch;
        const int at_once = is_in_place ? BLOCKS_OF_INPUT : PATCH_PIXELS / (FILTER_ROWS * ARG_ROW_PIXELS);
        frame[TAPS_AT] = (ulong)taps;
        frame[TAPS_END] = (ulong)(taps + FILTER_TAPS * TAP_NUMBERS);
        frame[STEP_BYTES] =
            is_in_place ? INPUT0_PITCH_1 * sizeof(TILE_VALUE) : FILTER_ROWS * ARG_ROW_PIXELS * CHANNEL_BYTES;
        for (int tile_across = first_across; tile_across < end_across; ++tile_across) {
            const index_t channel = tile_across * (TILE_BLOCKS * BLOCK);
            index_t filters[TILE_BLOCKS];
            #pragma unroll
            for (int j = 0; j < TILE_BLOCKS; ++j) {
                const index_t own = min(channel + j * BLOCK, (INPUT1_SIZE_1 - 1) / BLOCK * BLOCK);
                const index_t at[MAX_RANK] = {group, own};
                filters[j] = INPUT1_INDEX_OF(at);
                for (int i = 0; i < (INPUT1_SIZE_2 > 0 ? 1 : TILE_PIXELS); ++i)
                    vstore16(BIAS16(group * INPUT1_SIZE_1 + own), i * TILE_BLOCKS + j, frame_sums(frame));
            }
            frame[OTHER_BYTES] = TILE_BLOCKS > 1 ? (filters[TILE_BLOCKS - 1] - filters[0]) * sizeof(TILE_VALUE) : 32;
            frame[FIRST_BEGINS] = 1;
            for (int first = 0; first < BLOCKS_OF_INPUT; first += at_once) {
                const int count = min(at_once, BLOCKS_OF_INPUT - first);
                if (!is_in_place && (tile_across == first_across || at_once < BLOCKS_OF_INPUT))
                    FUNC(fill_patch)(patch, input, PASS_FACTOR batch, group * INPUT1_SIZE_2, first, count, from_z,
                                     from_y, from_x PASS_ARGS);
                frame[LEFT_AT] = is_in_place ? (ulong)(input + INPUT0_INDEX_OF(from)) : (ulong)patch;
                frame[RIGHT_AT] = (ulong)(weights + filters[0] + first * INPUT1_PITCH_2);
                frame[LATER_AT] = frame[RIGHT_AT];
                frame[STEP_COUNT] = count;
                frame[HALF_AT] = LAST_IS_HALF && first + count == BLOCKS_OF_INPUT;
                ADD_PRODUCTS(frame);
                frame[FIRST_BEGINS] = 0;
            }
            FUNC(store_pixels)(output, frame_sums(frame), batch, group, channel, z, y, x PASS_ARGS);
        }
    }
    END_TILES();
}
