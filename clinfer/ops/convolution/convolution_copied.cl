// Convolution of bf16 in AMX's tile registers (float_products.h) on planes that convolution_phases.cl or
// convolution_windows.cl makes of the data; output b_fs_yx_fsv16.
// A plane is one line of pixels, whose rows have ARG_WIDTH pixels, a few more than the output's: so each element of the
// filter finds what all pixels of a tile need at one distance, and tiles go from one row to the next. What tiles
// compute behind the ends of rows is not stored. One work-item computes ARG_RUN tiles (tile_runs.h) of TILE_ROWS pixels
// x 2 blocks of 16 output channels, of which ARG_TILES lie side by side; a step is 32 input channels.
// Views: planes [B * G * blocks * PHASES, ARG_PLANE, 32], output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] with, for
// each block of 16 outputs x 32 inputs, 16 pairs of inputs x 16 outputs x 2 (block tails are zero), bias [G * O] in
// blocks of 16 (the same).
// Dimension 0: runs of tiles, 1: tiles of channels of all groups and batches.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define FILTER_TAPS 1
#define PHASES_Y 1
#define PHASES_X 1
#define ARG_WIDTH 1
#define ARG_PLANE 32
#define ARG_TILES 1
#endif
#define BLOCK 16
#define STEPS_ARE_WIDE 1

#include "shared/bias.h"
#include "shared/spatial.h"
#include "shared/float_products.h"
#include "shared/tile_runs.h"

#define PIXEL_BYTES (2 * BLOCK * sizeof(ushort))
#define STEPS CEIL_DIV(INPUT1_SIZE_2, 2 * BLOCK)
#define PLANE_BYTES ((ulong)ARG_PLANE * PIXEL_BYTES)

// How far, in bytes, the data of each element of the filter lies behind a pixel's place in the first plane.
INLINED void FUNC(find_taps)(ulong* taps ARGS) {
    for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky)
        #pragma clang loop vectorize(disable)
        for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
            const int y = ky * ARG_DILATION_Y, x = kx * ARG_DILATION_X;
            const int phase = y % ARG_STRIDE_Y * PHASES_X + x % ARG_STRIDE_X;
            *taps++ = phase * PLANE_BYTES + (y / ARG_STRIDE_Y * ARG_WIDTH + x / ARG_STRIDE_X) * PIXEL_BYTES;
        }
}

// Applies the fused operations to sums [TILE_ROWS][2 * BLOCK] of pixels from `first` on, and stores those of pixels and
// blocks that exist, from output channel `channel` of a group on.
INLINED void FUNC(store_pixels)(global OUTPUT0_TYPE* output, const float* sums, const index_t batch,
                                const index_t group, const index_t channel, const int first ARGS) {
    for (int j = 0; j < 2 && channel + j * BLOCK < INPUT1_SIZE_1; ++j) {
        index_t at[MAX_RANK] = {batch, group * INPUT1_SIZE_1 + channel + j * BLOCK, 0, first / ARG_WIDTH,
                                first % ARG_WIDTH};
        #pragma unroll 1
        for (int i = 0; i < TILE_ROWS && at[3] < OUTPUT0_SIZE_Y; ++i) {
            if (at[4] < OUTPUT0_SIZE_X) {
                const index_t to = OUTPUT0_INDEX_OF(at);
                OUTPUT0_COMPUTE16 result = vload16(i * 2 + j, sums);
                FUSED_OPS16(result, at, 1)
                OUTPUT0_STORE16(output, to, result);
            }
            if (++at[4] == ARG_WIDTH) ++at[3], at[4] = 0;
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_copied)(const global ushort* restrict planes, const global ushort* restrict weights,
                           BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int entry = (int)get_global_id(1) / ARG_TILES;
    const index_t batch = entry / INPUT1_SIZE_0, group = entry % INPUT1_SIZE_0;
    const index_t channel = (index_t)get_global_id(1) % ARG_TILES * (2 * BLOCK);
    const index_t next = min(channel + BLOCK, (INPUT1_SIZE_1 - 1) / BLOCK * BLOCK);
    const index_t filter[MAX_RANK] = {group, channel}, other[MAX_RANK] = {group, next};
    const ulong columns = (ulong)(weights + INPUT1_INDEX_OF(filter));
    const ulong data = (ulong)planes + entry * (STEPS * PHASES_Y * PHASES_X) * PLANE_BYTES;
    ulong taps[FILTER_TAPS];
    FUNC(find_taps)(taps PASS_ARGS);
    FRAME(frame);
    frame[OTHER_BYTES] = (ulong)(weights + INPUT1_INDEX_OF(other)) - columns;
    frame[ROW_BYTES] = PIXEL_BYTES;
    frame[STEP_BYTES] = PHASES_Y * PHASES_X * PLANE_BYTES;
    frame[TAPS_AT] = (ulong)taps;
    frame[TAPS_END] = (ulong)(taps + FILTER_TAPS);
    frame[HALF_AT] = 0;
    frame[FIRST_BEGINS] = 1;
    EACH_TILE_OF_RUN(0, tile, CEIL_DIV((index_t)OUTPUT0_SIZE_Y * ARG_WIDTH, TILE_ROWS)) {
        vstore16(BIAS16(group * INPUT1_SIZE_1 + channel), 0, frame_sums(frame));
        vstore16(BIAS16(group * INPUT1_SIZE_1 + next), 1, frame_sums(frame));
        frame[LEFT_AT] = data + tile * TILE_ROWS * PIXEL_BYTES;
        frame[RIGHT_AT] = columns;
        frame[STEP_COUNT] = STEPS;
        ADD_PRODUCTS(frame);
        FUNC(store_pixels)(output, frame_sums(frame), batch, group, channel, tile * TILE_ROWS PASS_ARGS);
    }
    END_TILES();
}
