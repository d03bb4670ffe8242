// Copies bf16 in blocks of 16 channels to where convolution_copied.cl reads them, with zeros outside of the data and
// behind the last channel: planes [B * G * blocks * PHASES, pixels, 32], of 32 channels each, for a filter that steps
// by STRIDE_Y and STRIDE_X one plane for each place within a step that it meets (PHASES_Y x PHASES_X). A plane has
// ARG_ROWS rows of ARG_WIDTH pixels, of ARG_PLANE in all.
// Views: data [B, C, Z, Y, X]; a group has CHANNELS channels, of which CHANNELS / 32 make the blocks.
// Dimension 0: runs of rows (tile_runs.h), 1: planes.
#include "clinfer.cl"

#ifndef CHANNELS
#define CHANNELS 32
#define GROUPS 1
#define PHASES_Y 1
#define PHASES_X 1
#define ARG_ROWS 1
#define ARG_WIDTH 1
#define ARG_PLANE 32
#endif
#define BLOCK 16
#define BLOCKS CEIL_DIV(CHANNELS, 2 * BLOCK)

#include "shared/spatial.h"
#include "shared/tile_runs.h"

// 16 channels of a pixel, of which so many exist.
INLINED ushort16 FUNC(load)(const global ushort* pixel, const int channels) {
    const short16 lanes = (short16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    if (channels <= 0) return 0;
    return channels >= BLOCK ? vload16(0, pixel) : select((ushort16)0, vload16(0, pixel), lanes < (short)channels);
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_phases)(const global ushort* restrict input, global ushort* restrict planes ARGS) {
    const int plane = (int)get_global_id(1), phase = plane % (PHASES_Y * PHASES_X);
    const int block = plane / (PHASES_Y * PHASES_X) % BLOCKS, entry = plane / (PHASES_Y * PHASES_X * BLOCKS);
    const int channel = block * 2 * BLOCK, own = CHANNELS - channel;
    const int first_x = phase % PHASES_X - ARG_PAD_X;
    EACH_TILE_OF_RUN(0, row, ARG_ROWS) {
        const int y = row * ARG_STRIDE_Y + phase / PHASES_X - ARG_PAD_Y;
        global ushort* to = planes + ((ulong)plane * ARG_PLANE + row * ARG_WIDTH) * (2 * BLOCK);
        const index_t from[MAX_RANK] = {entry / GROUPS, entry % GROUPS * CHANNELS + channel, 0, y, 0};
        const bool is_row = IS_ON_AXIS(y, INPUT0_SIZE_Y);
        const global ushort* low = input + (is_row ? INPUT0_INDEX_OF(from) : 0);
        for (int i = 0; i < ARG_WIDTH; ++i) {
            const int x = i * ARG_STRIDE_X + first_x;
            const bool is_there = is_row && IS_ON_AXIS(x, INPUT0_SIZE_X);
            const global ushort* pixel = low + (is_there ? x * BLOCK : 0);
            vstore16(FUNC(load)(pixel, is_there ? own : 0), 2 * i, to);
            vstore16(FUNC(load)(pixel + INPUT0_PITCH_1, is_there ? own - BLOCK : 0), 2 * i + 1, to);
        }
    }
}
