// Copies planar data of bf16 to where convolution_copied.cl reads it: for each row of data and pixel of an output row
// all that the filter meets in that row, CHANNELS times FILTER_X values, and zeros outside of the data and up to whole
// steps of 32: planes [B * STEPS * PHASES_Y, pixels, 32], one for each row within a step of the filter along y. A plane
// has ARG_ROWS rows of ARG_WIDTH pixels, of ARG_PLANE in all.
// Views: data [B, C, Z, Y, X], whose rows lie together. COPIED values (4, 8 or 16, FILTER_X at least) are copied at
// once.
// Dimension 0: runs of rows (tile_runs.h), 1: PHASES_Y of each batch.
#include "clinfer.cl"

#ifndef CHANNELS
#define CHANNELS 3
#define FILTER_X 3
#define COPIED 4
#define PHASES_Y 1
#define ARG_ROWS 1
#define ARG_WIDTH 1
#define ARG_PLANE 32
#endif
#define STEPS CEIL_DIV(CHANNELS * FILTER_X, 32)

#include "shared/spatial.h"
#include "shared/tile_runs.h"

#define COPY(to, from) CLINFER_PASTE(vstore, COPIED)(CLINFER_PASTE(vload, COPIED)(0, from), 0, to)

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_windows)(const global ushort* restrict input, global ushort* restrict planes ARGS) {
    const int phase = (int)get_global_id(1) % PHASES_Y, batch = (int)get_global_id(1) / PHASES_Y;
    ushort window[STEPS * 32 + COPIED];
    for (int i = 0; i < STEPS * 32; ++i) window[i] = 0;
    EACH_TILE_OF_RUN(0, row, ARG_ROWS) {
        const int y = row * ARG_STRIDE_Y + phase - ARG_PAD_Y;
        const index_t begin[MAX_RANK] = {batch, 0, 0, y, 0};
        const bool is_row = IS_ON_AXIS(y, INPUT0_SIZE_Y);
        const global ushort* data = input + (is_row ? INPUT0_INDEX_OF(begin) : 0);
        for (int i = 0; i < ARG_WIDTH; ++i) {
            const int x = i * ARG_STRIDE_X - ARG_PAD_X;
            // Behind the last row there may be nothing to read.
            const bool is_inside = is_row && ARG_DILATION_X == 1 && x >= 0 && x + COPIED <= INPUT0_SIZE_X;
            #pragma unroll
            for (int c = 0; c < CHANNELS; ++c) {
                const global ushort* from = data + c * INPUT0_PITCH_1 + x;
                ushort* to = window + c * FILTER_X;
                if (is_inside) {
                    COPY(to, from);
                } else {
                    #pragma clang loop vectorize(disable)
                    for (int k = 0; k < FILTER_X; ++k) {
                        const int at = k * ARG_DILATION_X;
                        to[k] = is_row && IS_ON_AXIS(x + at, INPUT0_SIZE_X) ? from[at] : 0;
                    }
                }
            }
            for (int k = CHANNELS * FILTER_X; k < CHANNELS * FILTER_X + COPIED - FILTER_X; ++k) window[k] = 0;
            for (int step = 0; step < STEPS; ++step) {
                const ulong plane = (ulong)(batch * STEPS + step) * PHASES_Y + phase;
                global ushort* to = planes + (plane * ARG_PLANE + row * ARG_WIDTH + i) * 32;
                vstore16(vload16(2 * step, window), 0, to);
                vstore16(vload16(2 * step + 1, window), 1, to);
            }
        }
    }
}
