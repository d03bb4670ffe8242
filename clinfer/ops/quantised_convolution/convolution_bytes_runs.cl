// Convolution of bytes with weights of i8 by tiles of AMX, for x86 CPUs, of one group and two spatial axes at most.
// One work-item computes tiles (tile_runs.h, ARG_TILES in all) of TILE_ROWS pixels x a panel of PANEL_COLUMNS output
// channels. Tile registers read the data where they lie: what a pixel meets of a block of channels in a row of the
// filter is one run of ARG_STEPS times four bytes (with ARG_ROW_RUNS above 1 each element of the row by itself), and
// those of the next pixel lie a stride behind. Pixels follow each other in one of the ARG_ROWS rows that the output is
// taken for (ARG_ROW_PIXELS each); the first tiles of all rows come first, so that few change the shapes of registers.
// Such a row may go on from one row of the output to the next, which begins ARG_ROW_WIDTH pixels behind; what lies
// between the two is computed and not stored.
// Views: data [B, blocks, Y, X, PIXEL_BYTES], with all that filters meet (convolution_to_bytes.cl,
// convolution_to_fours.cl), output [B, C, 1, Y, X] in blocks of 16 channels; weights [panels, blocks, y, x,
// PIXEL_BYTES / STEP_VALUES, PANEL_COLUMNS, STEP_VALUES]; scales [O], what sums start with [O] and bias [O] in blocks
// of 16; grid [1, 3]: 1 / step, zero point, step.
// Limits: MOST_RUNS runs in all, of 64 bytes at most.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 32
#define MOST_PANELS 1
#define PIXEL_BYTES 16
#define ARG_STEPS 4
#define ARG_ROW_RUNS 1
#define ARG_FILTER_Y 1
#define ARG_ROW_PIXELS 1
#define ARG_ROWS 1
#define ARG_ROW_WIDTH 1
#define ARG_TILES 1
#endif

#include "shared/bias.h"
#include "shared/spatial.h"
#include "shared/byte_products.h"
#include "shared/tile_runs.h"
#include "pixels.h"
#include "sums.h"

#define MOST_RUNS 512

// How far what runs meet lies behind what the first one meets, in bytes; how many there are.
int FUNC(find_runs)(ulong* runs ARGS) {
    int count = 0;
    for (int block = 0; block < INPUT0_SIZE_1; ++block)
        for (int y = 0; y < ARG_FILTER_Y; ++y)
            for (int x = 0; x < ARG_ROW_RUNS; ++x)
                runs[count++] = block * INPUT0_PITCH_1 + y * ARG_DILATION_Y * INPUT0_PITCH_2
                                + x * ARG_DILATION_X * PIXEL_BYTES;
    return count;
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_bytes_runs)(const global INPUT0_TYPE* restrict data, const global INPUT1_TYPE* restrict weights,
                               const global INPUT2_TYPE* restrict scale, const global START_TYPE* restrict start_sums,
                               const global INPUT3_TYPE* restrict grid, BIAS_PARAMETER
                               global OUTPUT0_TYPE* restrict output ARGS) {
    const int panel = get_global_id(1), batch = get_global_id(2);
    const int channel = panel * PANEL_COLUMNS, end = min((int)OUTPUT0_SIZE_1, channel + PANEL_COLUMNS);
    const global uchar* picture = (const global uchar*)data + INPUT0_OFFSET + batch * INPUT0_PITCH_0;
    const float step = INPUT3_LOAD(grid, INPUT3_OFFSET + 2);
    ulong runs[MOST_RUNS];
    const int count = FUNC(find_runs)(runs PASS_ARGS);
    const ulong panel_bytes = (ulong)count * ARG_STEPS * STEP_BYTES;
    const global char* columns = (const global char*)weights + panel * panel_bytes;
    SUMS(sums, 1);
    STATE(state);
    ASK_FOR(state, 2 * ARG_STEPS * STEP_BYTES, CEIL_DIV(ARG_STEPS * ASKS_OF_TURN, 16));
    EACH_TILE_OF_RUN(0, tile, ARG_TILES) {
        const int row = tile % ARG_ROWS, first = tile / ARG_ROWS * TILE_ROWS;
        const int pixels = min(TILE_ROWS, ARG_ROW_PIXELS - first);
        const global uchar* from =
            picture + row * ARG_STRIDE_Y * INPUT0_PITCH_2 + first * ARG_STRIDE_X * PIXEL_BYTES;
        FUNC(add_byte_products)(state, sums, AT(from), ARG_STRIDE_X * PIXEL_BYTES, pixels, runs, count, ARG_STEPS,
                                columns, panel_bytes, 1, true);
        FUNC(store_sums)(sums, scale, start_sums, step, PASS_BIAS output, batch, channel, end,
                         row + first / ARG_ROW_WIDTH, first % ARG_ROW_WIDTH, ARG_ROW_WIDTH, pixels PASS_ARGS);
    }
    END_PRODUCTS();
}
