// Convolution of bf16 on b_fs_yx_fsv16 (or b_fs_zyx_fsv16) data and output, with sums in float by products of pairs
// (bf16_tiles.h), for x86 CPUs.
// One work-item computes tiles of TILE_PIXELS pixels of one row x 2 blocks of 16 output channels (tile_runs.h); a step
// is a block of input channels. A tile that is full and reads nothing outside of the data reads it where it lies. What
// others read is copied into `patch`, as many channels at a time as fit, with zeros outside of the data and behind the
// last channel, and times the factors.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] with, for each block of 16 outputs x 16 inputs, 8
// pairs of inputs x 16 outputs x 2 (block tails are zero), bias [G * O] in blocks of 16 (the same), factor
// [B, C, 1, 1, 1] like the data.
// Limits: what a tile reads of a block of channels has at most PATCH_PIXELS; grouped channels are multiples of 16.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 14
#define PATCH_PIXELS 1024
#define FILTER_TAPS 256
#define ARG_ROW_PIXELS 64
#define ARG_TILES 1
#endif
#define TILE_BLOCKS 2
#define TILE_ROWS TILE_PIXELS

#include "factor.h"
#include "shared/channel_tiles.h"
#include "shared/spatial.h"
#include "shared/bf16_tiles.h"
#include "shared/tile_runs.h"

#define FILTER_ROWS (INPUT1_SIZE_Z * INPUT1_SIZE_Y)
#define CHANNEL_BYTES (BLOCK * sizeof(ushort))
#define BLOCKS_OF_INPUT ((INPUT1_SIZE_2 + BLOCK - 1) / BLOCK)

// How far, in bytes, the data of each element of the filter lies behind that of the first, given the distances of rows.
void FUNC(find_taps)(ulong* taps, const long z_pitch, const long y_pitch ARGS) {
    for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz)
        for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky)
            #pragma clang loop vectorize(disable)
            for (int kx = 0; kx < INPUT1_SIZE_X; ++kx)
                *taps++ = (kz * z_pitch + ky * y_pitch + kx * ARG_DILATION_X * BLOCK) * sizeof(ushort);
}

// One row of the patch: 16 channels, of which `channels` exist, of pixels from x on.
void FUNC(copy_row)(ushort* patch, const global ushort* row, const int x, const float16 factors,
                    const int channels ARGS) {
    const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#if !HAS_FACTOR
    if (channels >= BLOCK) {
        const int first = clamp(-x, 0, ARG_ROW_PIXELS), last = clamp((int)INPUT0_SIZE_X - x, first, ARG_ROW_PIXELS);
        for (int i = 0; i < first; ++i) vstore16((ushort16)0, i, patch);
        for (int i = first; i < last; ++i) vstore16(vload16(x + i, row), i, patch);
        for (int i = last; i < ARG_ROW_PIXELS; ++i) vstore16((ushort16)0, i, patch);
        return;
    }
#endif
    for (int i = 0; i < ARG_ROW_PIXELS; ++i) {
        ushort16 pixel = 0;
        if ((uint)(x + i) < (uint)INPUT0_SIZE_X) {
            pixel = vload16(x + i, row);
#if HAS_FACTOR
            pixel = clinfer_to_bf16_16(as_float16(convert_uint16(pixel) << 16) * factors);
#endif
            if (channels < BLOCK) pixel = select((ushort16)0, pixel, convert_short16(lanes < channels));
        }
        vstore16(pixel, i, patch);
    }
}

// Adds the products of a tile by way of a patch: its data begins at these coordinates and first `channel` of the group.
void FUNC(add_by_patch)(ulong* frame, const ulong* taps, const global ushort* input, const global ushort* filter,
                        FACTOR_PARAMETER const index_t batch, const index_t channel, const int from_z, const int from_y,
                        const int from_x ARGS) {
    ushort patch[PATCH_PIXELS * BLOCK];
    const int row_size = ARG_ROW_PIXELS * BLOCK, blocks_at_once = PATCH_PIXELS / (FILTER_ROWS * ARG_ROW_PIXELS);
    frame[TAPS_AT] = (ulong)taps;
    frame[TAPS_END] = (ulong)(taps + FILTER_TAPS);
    frame[STEP_BYTES] = FILTER_ROWS * row_size * sizeof(ushort);
    for (int first = 0; first < BLOCKS_OF_INPUT; first += blocks_at_once) {
        const int count = min(blocks_at_once, BLOCKS_OF_INPUT - first);
        ushort* to = patch;
        for (int c = first * BLOCK; c < (first + count) * BLOCK; c += BLOCK) {
            float16 factors = 1.0f;
#if HAS_FACTOR
            factors = FACTOR16_OF(batch, channel + c);
#endif
            for (int row = 0; row < FILTER_ROWS; ++row, to += row_size) {
                const int in_z = from_z + row / INPUT1_SIZE_Y * ARG_DILATION_Z;
                const int in_y = from_y + row % INPUT1_SIZE_Y * ARG_DILATION_Y;
                const int from[MAX_RANK] = {batch, channel + c, in_z, in_y, 0};
                if ((uint)in_z < (uint)INPUT0_SIZE_Z && (uint)in_y < (uint)INPUT0_SIZE_Y)
                    FUNC(copy_row)(to, input + INPUT0_INDEX_OF(from), from_x, factors,
                                   INPUT1_SIZE_2 - c PASS_ARGS);
                else
                    for (int i = 0; i < ARG_ROW_PIXELS; ++i) vstore16((ushort16)0, i, to);
            }
        }
        frame[LEFT_AT] = (ulong)patch;
        frame[RIGHT_AT] = (ulong)(filter + first * INPUT1_PITCH_2);
        frame[STEP_COUNT] = count;
        ADD_PRODUCTS(frame);
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_bf16)(const global ushort* restrict input, const global ushort* restrict weights,
                         BIAS_PARAMETER FACTOR_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    PLACE_OF_CHANNELS((index_t)get_global_id(1));
    ulong taps_of_data[FILTER_TAPS], taps_of_patch[FILTER_TAPS];
    FUNC(find_taps)(taps_of_data, ARG_DILATION_Z * INPUT0_PITCH_Z, ARG_DILATION_Y * INPUT0_PITCH_Y PASS_ARGS);
    FUNC(find_taps)(taps_of_patch, INPUT1_SIZE_Y * ARG_ROW_PIXELS * BLOCK, ARG_ROW_PIXELS * BLOCK PASS_ARGS);
    index_t filters[TILE_BLOCKS];
    EACH_TILE_OF_RUN(0, tile, TILES_OF_PICTURE) {
        PLACE_IN_PICTURE(tile);
        float16 sum[TILE_PIXELS][TILE_BLOCKS];
        FUNC(start_tile)(sum, filters, PASS_BIAS group, channel PASS_ARGS);
        FRAME(frame);
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i)
            #pragma unroll
            for (int j = 0; j < TILE_BLOCKS; ++j) vstore16(sum[i][j], i * TILE_BLOCKS + j, frame_sums(frame));
        frame[OTHER_BYTES] = (filters[1] - filters[0]) * sizeof(ushort);
        frame[ROW_BYTES] = ARG_STRIDE_X * CHANNEL_BYTES;

        const int from_z = z * ARG_STRIDE_Z - ARG_PAD_Z, from_y = y * ARG_STRIDE_Y - ARG_PAD_Y;
        const int from_x = x * ARG_STRIDE_X - ARG_PAD_X;
        const bool is_inside = from_z >= 0 && from_z + (INPUT1_SIZE_Z - 1) * ARG_DILATION_Z < INPUT0_SIZE_Z &&
            from_y >= 0 && from_y + (INPUT1_SIZE_Y - 1) * ARG_DILATION_Y < INPUT0_SIZE_Y &&
            from_x >= 0 && from_x + ARG_ROW_PIXELS <= INPUT0_SIZE_X;
        if (is_inside && !HAS_FACTOR && INPUT1_SIZE_2 % BLOCK == 0 && INPUT1_SIZE_2 > 0) {
            const int from[MAX_RANK] = {batch, group * INPUT1_SIZE_2, from_z, from_y, from_x};
            frame[TAPS_AT] = (ulong)taps_of_data;
            frame[TAPS_END] = (ulong)(taps_of_data + FILTER_TAPS);
            frame[LEFT_AT] = (ulong)(input + INPUT0_INDEX_OF(from));
            frame[RIGHT_AT] = (ulong)(weights + filters[0]);
            frame[STEP_BYTES] = INPUT0_PITCH_1 * sizeof(ushort);
            frame[STEP_COUNT] = BLOCKS_OF_INPUT;
            ADD_PRODUCTS(frame);
        } else {
            FUNC(add_by_patch)(frame, taps_of_patch, input, weights + filters[0], PASS_FACTOR batch,
                               group * INPUT1_SIZE_2, from_z, from_y, from_x PASS_ARGS);
        }

        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i)
            #pragma unroll
            for (int j = 0; j < TILE_BLOCKS; ++j) sum[i][j] = vload16(i * TILE_BLOCKS + j, frame_sums(frame));
        FUNC(store_tile)(output, sum, batch, group, channel, z, y, x, 1 PASS_ARGS);
    }
}
