// Convolution of bytes with weights of i8, for CPUs, of one group and two spatial axes at most.
// One work-item computes tiles (tile_runs.h, ARG_TILES in all) of TILE_ROWS pixels, which follow each other in one of
// the rows that the output is taken for (ARG_ROW_PIXELS each, in ARG_ROW_TILES tiles), x ARG_PANELS panels of
// PANEL_COLUMNS output channels (MOST_PANELS at most).
// A tile that is full and reads nothing outside of the data reads it where it lies, if the products can; what others
// read is copied first, some rows of the filter at a time, with the zero point outside. For tiles of AMX, to which all
// pixels are one row, the pixels that each element of the filter meets are gathered. Products are added up exactly, and
// the sum is scaled at the end.
// Views: data [B, blocks, Y, X, PIXEL_BYTES] (convolution_to_bytes.cl, convolution_to_fours.cl), output [B, C, 1, Y, X]
// in blocks of 16 channels; weights [panels, blocks, y, x, PIXEL_BYTES / STEP_VALUES, PANEL_COLUMNS, STEP_VALUES];
// scales [O], what sums start with [O] and bias [O] in blocks of 16; grid [1, 3]: 1 / step, zero point, step.
// PIXEL_BYTES is 16, or 4 where there are few channels.
// Limits: a row of the filter has at most MOST_TAPS elements, and a tile reads at most PATCH_PIXELS pixels by it.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define MOST_PANELS 4
#define PIXEL_BYTES 16
#define ARG_PANELS 1
#define ARG_CHANNELS 16
#define ARG_FILTER_Y 1
#define ARG_FILTER_X 1
#define ARG_ROW_PIXELS 1
#define ARG_ROW_TILES 1
#define ARG_TILES 1
#endif

#include "shared/bias.h"
#include "shared/spatial.h"
#include "shared/byte_products.h"
#include "shared/tile_runs.h"
#include "pixels.h"
#include "sums.h"

#define MOST_TAPS 64
#define PATCH_PIXELS 1024
#define STEPS (PIXEL_BYTES / STEP_VALUES)
#define TAP_WEIGHTS (PIXEL_BYTES * PANEL_COLUMNS)
#define PLACE_BYTES (PIXEL_BYTES * HELD_BYTES)
#define FILTER_ROWS (INPUT0_SIZE_1 * ARG_FILTER_Y)

#if TILE_ROWS > 14
#define CHANNELS_AT(i, distance) vload4(0, (const global uint*)(begins[i] + (distance)))

// An element of the filter and a block of channels.
typedef struct { int block, y, x; } FUNC(tap);

// How far what it meets lies behind what the first one meets, in bytes; it becomes the next one.
INLINED int FUNC(next_tap)(FUNC(tap)* tap ARGS) {
    const int distance = tap->block * INPUT0_PITCH_1 + tap->y * ARG_DILATION_Y * INPUT0_PITCH_2
                         + tap->x * ARG_DILATION_X * BLOCK;
    if (++tap->x == ARG_FILTER_X) {
        tap->x = 0;
        if (++tap->y == ARG_FILTER_Y) tap->y = 0, ++tap->block;
    }
    return distance;
}

// Gathers `count` elements of the filter from `tap` on: the blocks of 16 channels that they meet, for `pixels` pixels
// of the output from `first` on.
void FUNC(gather)(uchar* to, const global uchar* data, const int tap, const int count, const int first,
                  const int pixels, const uchar zero ARGS) {
    int from_y[TILE_ROWS], from_x[TILE_ROWS];
    const global uchar* begins[TILE_ROWS];
    bool is_inside = true;
    for (int i = 0; i < TILE_ROWS; ++i) {
        const int pixel = first + min(i, pixels - 1);
        const int y = pixel / OUTPUT0_SIZE_X * ARG_STRIDE_Y - ARG_PAD_Y;
        const int x = pixel % OUTPUT0_SIZE_X * ARG_STRIDE_X - ARG_PAD_X;
        from_y[i] = y, from_x[i] = x, begins[i] = data + y * INPUT0_PITCH_2 + x * BLOCK;
        is_inside &= y >= 0 && y + (ARG_FILTER_Y - 1) * ARG_DILATION_Y < INPUT0_SIZE_2
                     && x >= 0 && x + (ARG_FILTER_X - 1) * ARG_DILATION_X < INPUT0_SIZE_3;
    }
    FUNC(tap) place = {tap / ARG_FILTER_X / ARG_FILTER_Y, tap / ARG_FILTER_X % ARG_FILTER_Y, tap % ARG_FILTER_X};
    int left = count;
    // Four at a time make a line of the cache.
    for (; is_inside && left >= 4; left -= 4, to += 4 * BLOCK) {
        const int one = FUNC(next_tap)(&place PASS_ARGS), two = FUNC(next_tap)(&place PASS_ARGS);
        const int three = FUNC(next_tap)(&place PASS_ARGS), four = FUNC(next_tap)(&place PASS_ARGS);
        #pragma unroll 8
        for (int i = 0; i < TILE_ROWS; ++i)
            vstore16((uint16)(CHANNELS_AT(i, one), CHANNELS_AT(i, two), CHANNELS_AT(i, three), CHANNELS_AT(i, four)), 0,
                     (uint*)(to + i * ROW_BYTES));
    }
    for (; left > 0; --left, to += BLOCK) {
        const uchar16 outside = (uchar16)zero & FUNC(existing)(ARG_CHANNELS - place.block * BLOCK);
        const int y = place.y * ARG_DILATION_Y, x = place.x * ARG_DILATION_X;
        const int distance = FUNC(next_tap)(&place PASS_ARGS);
        for (int i = 0; i < TILE_ROWS; ++i) {
            const bool is_there = (uint)(from_y[i] + y) < (uint)INPUT0_SIZE_2
                                  && (uint)(from_x[i] + x) < (uint)INPUT0_SIZE_3;
            vstore16(is_there ? vload16(0, begins[i] + distance) : outside, 0, to + i * ROW_BYTES);
        }
    }
}

void FUNC(add_up)(ulong* state, int* sums, const global uchar* data, const global char* weights, const int panels,
                  const int row, const int first, const int pixels, const uchar zero ARGS) {
    const int taps = FILTER_ROWS * ARG_FILTER_X;
    const ulong whole[1] = {0};
    uchar rows[TILE_ROWS * ROW_BYTES] __attribute__((aligned(64)));
    for (int tap = 0; tap < taps; tap += MOST_TAPS) {
        const int count = min(MOST_TAPS, taps - tap);
        FUNC(gather)(rows, data, tap, count, first, pixels, zero PASS_ARGS);
        FUNC(add_byte_products)(state, sums, AT(rows), ROW_BYTES, pixels, whole, 1, count * STEPS,
                                weights + tap * TAP_WEIGHTS, taps * TAP_WEIGHTS, panels, tap == 0);
    }
}
#else
#if PIXEL_BYTES == 4
#define PIXEL uchar4
#define LOAD_PIXEL vload4
#define STORE_PIXEL vstore4
#define OF_PIXEL(channels) ((channels).s0123)
#define HELD_PIXEL HELD4
#define TO_HELD_PIXEL(channels) TO_HELD(4, channels)
#else
#define PIXEL uchar16
#define LOAD_PIXEL vload16
#define STORE_PIXEL vstore16
#define OF_PIXEL(channels) (channels)
#define HELD_PIXEL HELD16
#define TO_HELD_PIXEL(channels) TO_HELD(16, channels)
#endif
#define ROW_RUNS (ARG_DILATION_X == 1 ? 1 : ARG_FILTER_X)

// Copies what `count` rows of the filter read, from the row `first` on (those of one block of channels, then those of
// the next): for each, `span` pixels from (y, x) on.
void FUNC(copy_patch)(HELD* patch, const global uchar* data, const int first, const int count, const int y,
                      const int x, const int span, const uchar zero ARGS) {
    const int begin = clamp(-x, 0, span), end = clamp((int)INPUT0_SIZE_3 - x, begin, span);
    for (int row = first; row < first + count; ++row, patch += span * PIXEL_BYTES) {
        const int block = row / ARG_FILTER_Y, at = y + row % ARG_FILTER_Y * ARG_DILATION_Y;
        const HELD_PIXEL outside =
            TO_HELD_PIXEL((PIXEL)zero & OF_PIXEL(FUNC(existing)(ARG_CHANNELS - block * PIXEL_BYTES)));
        const bool is_there = (uint)at < (uint)INPUT0_SIZE_2;
        const global uchar* from = data + block * INPUT0_PITCH_1 + (is_there ? at : 0) * INPUT0_PITCH_2;
        const int copied = is_there ? begin : span, left = is_there ? end : span;
        for (int i = 0; i < copied; ++i) STORE_PIXEL(outside, i, patch);
        for (int i = copied; i < left; ++i) STORE_PIXEL(TO_HELD_PIXEL(LOAD_PIXEL(x + i, from)), i, patch);
        for (int i = left; i < span; ++i) STORE_PIXEL(outside, i, patch);
    }
}

// How far, in bytes, what runs of elements of the filter meet lies behind what the first one meets, for `count` rows of
// it from the row `first` on, `pitch` from each other, and `block_pitch` from one block to the next. A run is a row, or
// one element where there are holes between them.
void FUNC(find_taps)(ulong* taps, const int first, const int count, const ulong block_pitch, const ulong pitch ARGS) {
    int block = first / ARG_FILTER_Y, y = first % ARG_FILTER_Y;
    for (int row = 0; row < count; ++row) {
        for (int x = 0; x < ROW_RUNS; ++x)
            *taps++ = block * block_pitch + y * pitch + x * ARG_DILATION_X * PLACE_BYTES;
        if (++y == ARG_FILTER_Y) y = 0, ++block;
    }
}

void FUNC(add_up)(ulong* state, int* sums, const global uchar* data, const global char* weights, const int panels,
                  const int row, const int first, const int pixels, const uchar zero ARGS) {
    const int y = row * ARG_STRIDE_Y - ARG_PAD_Y, x = first * ARG_STRIDE_X - ARG_PAD_X;
    const int span = (TILE_ROWS - 1) * ARG_STRIDE_X + (ARG_FILTER_X - 1) * ARG_DILATION_X + 1;
    const ulong panel_bytes = (ulong)FILTER_ROWS * ARG_FILTER_X * TAP_WEIGHTS;
    const bool is_read = READS_DATA && pixels == TILE_ROWS && y >= 0 && x >= 0 && x + span <= INPUT0_SIZE_3 &&
        y + (ARG_FILTER_Y - 1) * ARG_DILATION_Y < INPUT0_SIZE_2;
    const int at_once = min(MOST_TAPS / ARG_FILTER_X, is_read ? MOST_TAPS : PATCH_PIXELS / span);
    const int steps = ARG_FILTER_X / ROW_RUNS * STEPS;
    ulong taps[MOST_TAPS];
    HELD patch[PATCH_PIXELS * PIXEL_BYTES];
    for (int done = 0; done < FILTER_ROWS; done += at_once) {
        const int count = min(at_once, FILTER_ROWS - done), runs = count * ROW_RUNS;
        const global char* columns = weights + (ulong)done * ARG_FILTER_X * TAP_WEIGHTS;
#if READS_DATA
        if (is_read) {
            FUNC(find_taps)(taps, done, count, INPUT0_PITCH_1, ARG_DILATION_Y * INPUT0_PITCH_2 PASS_ARGS);
            FUNC(add_byte_products)(state, sums, AT(data + y * INPUT0_PITCH_2 + x * PIXEL_BYTES),
                                    ARG_STRIDE_X * PLACE_BYTES, TILE_ROWS, taps, runs, steps, columns, panel_bytes,
                                    panels, done == 0);
            continue;
        }
#endif
        FUNC(copy_patch)(patch, data, done, count, y, x, span, zero PASS_ARGS);
        FUNC(find_taps)(taps, 0, count, (ulong)ARG_FILTER_Y * span * PLACE_BYTES, span * PLACE_BYTES PASS_ARGS);
        FUNC(add_byte_products)(state, sums, AT(patch), ARG_STRIDE_X * PLACE_BYTES, TILE_ROWS, taps, runs, steps,
                                columns, panel_bytes, panels, done == 0);
    }
}
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_bytes)(const global INPUT0_TYPE* restrict data, const global INPUT1_TYPE* restrict weights,
                          const global INPUT2_TYPE* restrict scale, const global START_TYPE* restrict start_sums,
                          const global INPUT3_TYPE* restrict grid, BIAS_PARAMETER
                          global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_panel = (int)get_global_id(1) * ARG_PANELS, batch = get_global_id(2), outputs = OUTPUT0_SIZE_1;
    const int panels = min((int)ARG_PANELS, CEIL_DIV(outputs, PANEL_COLUMNS) - first_panel);
    const global uchar* picture = (const global uchar*)data + INPUT0_OFFSET + batch * INPUT0_PITCH_0;
    const global char* columns =
        (const global char*)weights + (ulong)first_panel * FILTER_ROWS * ARG_FILTER_X * TAP_WEIGHTS;
    const uchar zero = convert_uchar_sat_rte(INPUT3_LOAD(grid, INPUT3_OFFSET + 1));
    const float step = INPUT3_LOAD(grid, INPUT3_OFFSET + 2);
    SUMS(sums, MOST_PANELS);
    STATE(state);
    EACH_TILE_OF_RUN(0, tile, ARG_TILES) {
        const int row = tile / ARG_ROW_TILES, first = tile % ARG_ROW_TILES * TILE_ROWS;
        const int pixels = min(TILE_ROWS, ARG_ROW_PIXELS - first);
        FUNC(add_up)(state, sums, picture, columns, panels, row, first, pixels, zero PASS_ARGS);
#if TILE_ROWS > 14
        const int y = first / OUTPUT0_SIZE_X, x = first % OUTPUT0_SIZE_X;
#else
        const int y = row, x = first;
#endif
        FUNC(store_sums)(sums, scale, start_sums, step, PASS_BIAS output, batch, first_panel * PANEL_COLUMNS,
                         min(outputs, (first_panel + panels) * PANEL_COLUMNS), y, x, OUTPUT0_SIZE_X, pixels PASS_ARGS);
    }
    END_PRODUCTS();
}
