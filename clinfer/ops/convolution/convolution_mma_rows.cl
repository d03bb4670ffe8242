// Convolution of few channels on NVIDIA's tensor cores: f16, sums in float, planes in memory (pictures as they come),
// no groups, even strides along x, no dilation along x, and filters of at most 8 columns. The output's channels lie
// last.
// A group computes TILE_COLUMNS channels of TILE_ROWS pixels of each of OUTPUT_ROWS rows, a warp 32 pixels of each row.
// It is the product of pixels by runs, as convolution_mma_planar.cl has it, of which two at a time are multiplied. The
// data beneath all of them lies in local memory, once, where runs begin at words; so do the filters, as runs of 8.
// Views: data and output [B, C, Z, Y, X] with Z 1, weights [1, O, C, 1, Y, X], bias [O]. Groups: pixels of a row,
// then rows, then pictures; channels.
#include "clinfer.cl"

#ifndef OUTPUT_ROWS
#define OUTPUT_ROWS 4
#define CHANNELS 3
#define FILTER_Y 7
#define FILTER_X 7
#define STRIDE_Y 2
#define STRIDE_X 2
#define DILATION_Y 1
#define ALIGNED 0
#endif
#define TILE_ROWS 128
#define TILE_COLUMNS 64
#define DEPTH 64
#define STAGES 1
#define WARPS_DOWN 4
#define WARPS_ACROSS 1
#define WARP_GROUPS 0
#define COPYING_WARPS 0
#include "mma_pixels.h"

#define RUNS (CHANNELS * FILTER_Y)
#define STEPS ((RUNS + 1) / 2)
#define DATA_ROWS ((OUTPUT_ROWS - 1) * STRIDE_Y + (FILTER_Y - 1) * DILATION_Y + 1)
#define DATA_WORDS ((TILE_ROWS - 1) * STRIDE_X / 2 + 4)
// Where a run lies in local memory, in chunks of 8 halves: those of 4 columns and the next 4 in different banks.
#define FILTER_AT(run, column) ((((run) / 2 * TILE_COLUMNS + (column)) * 2 + ((run) % 2 ^ (column) / 4 % 2)) * 16)

// Copies the data from row `y` and pixel `x` of a picture on, zeros outside of it.
INLINED void FUNC(copy_data)(local uint* data, const global half* picture, const int y, const int x ARGS) {
    const global ushort* halves = (const global ushort*)picture;
    #pragma unroll 10
    for (int n = get_local_id(0); n < CHANNELS * DATA_ROWS * DATA_WORDS; n += THREADS) {
        const int row = n / DATA_WORDS, at_x = x + n % DATA_WORDS * 2, at_y = y + row % DATA_ROWS;
        const long from = (long)(row / DATA_ROWS) * INPUT0_PITCH_1 + (long)at_y * INPUT0_PITCH_Y + at_x;
        const bool is_row = IS_ON_AXIS(at_y, INPUT0_SIZE_Y);
        const uint low = is_row && IS_ON_AXIS(at_x, INPUT0_SIZE_X) ? halves[from] : 0;
        const uint high = is_row && IS_ON_AXIS(at_x + 1, INPUT0_SIZE_X) ? halves[from + 1] : 0;
        data[n] = low | high << 16;
    }
}

// Copies the filters of `channels` channels, zeros behind them and behind each run.
INLINED void FUNC(copy_filters)(local uchar* filters, const global half* weights, const int channels ARGS) {
    #pragma unroll 4
    for (int n = get_local_id(0); n < TILE_COLUMNS * STEPS * 2; n += THREADS) {
        const int column = n / (STEPS * 2), run = n % (STEPS * 2);
        const global ushort* from = (const global ushort*)weights + (long)column * INPUT1_PITCH_1 + run * FILTER_X;
        uint packed[4] = {0, 0, 0, 0};
        if (column < channels && run < RUNS) {
            #pragma unroll
            for (int i = 0; i < FILTER_X; ++i) packed[i / 2] |= (uint)from[i] << i % 2 * 16;
        }
        *(local uint4*)(filters + FILTER_AT(run, column)) = (uint4)(packed[0], packed[1], packed[2], packed[3]);
    }
}

// Adds the products of a warp's pixels, under which `data` begins in the first row, to `sum`.
INLINED void FUNC(add_runs)(float (*sum)[TILE_COLUMNS / 8][4], const local uint* data, const uint filters) {
    const int lane = get_local_id(0) % 32, tap = lane % 4 * 2;
    // What lies behind a run is no tap of it, and may be anything.
    const uint kept = tap + 1 < FILTER_X ? 0xFFFFFFFF : tap < FILTER_X ? 0xFFFF : 0;
    #pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        uint a[2][4], b[TILE_COLUMNS / 16][4];
        #pragma unroll
        for (int i = 0; i < 2; ++i)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                const int run = s * 2 + n / 2, pixel = i * 16 + n % 2 * 8 + lane / 4;
                const int row = run / FILTER_Y * DATA_ROWS + run % FILTER_Y * DILATION_Y;
                a[i][n] = run < RUNS ? data[row * DATA_WORDS + pixel * STRIDE_X / 2 + lane % 4] & kept : 0;
            }
        #pragma unroll
        for (int j = 0; j < TILE_COLUMNS / 16; ++j)
            LOAD_FRAGMENTS(b[j], filters + FILTER_AT(s * 2 + lane / 8 % 2, j * 16 + lane / 16 * 8 + lane % 8));
        #pragma unroll
        for (int i = 0; i < 2; ++i)
            #pragma unroll
            for (int j = 0; j < TILE_COLUMNS / 8; ++j)
                MULTIPLY_ADD(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(convolution_mma_rows)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                             BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local uint data[CHANNELS * DATA_ROWS * DATA_WORDS];
    local uchar filters[TILE_COLUMNS * STEPS * 32] __attribute__((aligned(128)));
    local float strips[ADDING_WARPS * STRIP_FLOATS] __attribute__((aligned(128)));
    const int across = (OUTPUT0_SIZE_X + TILE_ROWS - 1) / TILE_ROWS;
    const int down = (OUTPUT0_SIZE_Y + OUTPUT_ROWS - 1) / OUTPUT_ROWS;
    const int x = (int)get_group_id(0) % across * TILE_ROWS, rows = (int)get_group_id(0) / across;
    const int y = rows % down * OUTPUT_ROWS, column = (int)get_group_id(1) * TILE_COLUMNS;
    const int picture[MAX_RANK] = {rows / down};
    FUNC(copy_data)(data, (const global half*)input + INPUT0_INDEX_OF(picture), y * STRIDE_Y - ARG_PAD_Y,
                    x * STRIDE_X - ARG_PAD_X PASS_ARGS);
    FUNC(copy_filters)(filters, (const global half*)weights + INPUT1_OFFSET + (long)column * INPUT1_PITCH_1,
                       OUTPUT0_SIZE_1 - column PASS_ARGS);
    GROUP_BARRIER();
    if (x + ADDING_WARP * 32 >= OUTPUT0_SIZE_X) return;
    for (int row = 0; row < min((int)OUTPUT_ROWS, (int)OUTPUT0_SIZE_Y - y); ++row) {
        float sum[PART_ROWS / 16][PART_COLUMNS / 8][4];
        FUNC(clear)(sum);
        FUNC(add_runs)(sum, data + row * STRIDE_Y * DATA_WORDS + ADDING_WARP * 32 * STRIDE_X / 2, SHARED(filters));
        const int first[3] = {(picture[0] * OUTPUT0_SIZE_Y + y + row) * OUTPUT0_SIZE_X + x, column,
                              IS_ROW(OUTPUT0) FUSED_EACH(AND_FUSED_ROW_, 0)};
        STORE_RESULTS(sum, strips, first, OUTPUT0_SIZE_X - x, OUTPUT0_SIZE_1 - column);
    }
}
