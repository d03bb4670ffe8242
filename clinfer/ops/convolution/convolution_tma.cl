// Convolution on NVIDIA's tensor cores, as convolution_mma.cl has it, whose steps the tensor memory accelerator copies
// (bulk_copies.h): a step is 64 channels of one tap, zeros behind the last channel and outside of the pictures.
// Views: data and output [B, C, Z, Y, X] with Z 1, weights [1, O, C, 1, Y, X] in which filters of all channels lie
// together (format oyxi), bias [O]; maps [groups, 2, MAP_WORDS]. Groups: every n-th tile.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 128
#define TILE_COLUMNS 128
#define DEPTH 64
#define STAGES 4
#define WARPS_DOWN 8
#define WARPS_ACROSS 1
#define WARP_GROUPS 1
#define COPYING_WARPS 4
#define FILTER_Y 3
#define FILTER_X 3
#endif
#include "mma_pixels.h"
#include "shared/bulk_copies.h"

INLINED void FUNC(write_maps)(global ulong* maps, const global half* input, const global half* filters ARGS) {
    const int sizes[4] = {INPUT1_SIZE_2, INPUT0_SIZE_X, INPUT0_SIZE_Y, INPUT0_SIZE_0};
    const long pitches[4] = {1, INPUT0_PITCH_X, INPUT0_PITCH_Y, INPUT0_PITCH_0};
    const int2 strides = (int2)(ARG_STRIDE_X, ARG_STRIDE_Y), low = (int2)(-ARG_PAD_X, -ARG_PAD_Y);
    const int2 high = low + (int2)(OUTPUT0_SIZE_X - 1, OUTPUT0_SIZE_Y - 1) * strides
        - (int2)(INPUT0_SIZE_X - 1, INPUT0_SIZE_Y - 1);
    WRITE_PIXEL_MAP(maps, input, sizes, pitches, low, high, TILE_ROWS, strides);
    const int filter_sizes[4] = {INPUT1_SIZE_2, FILTER_Y * FILTER_X, INPUT1_SIZE_1, 1};
    const long filter_pitches[4] = {1, INPUT1_SIZE_2, INPUT1_PITCH_1, 0};
    WRITE_MAP(maps + MAP_WORDS, filters, 3, filter_sizes, filter_pitches, (int2)(1, TILE_COLUMNS));
    MAPS_SHOWN(maps);
}

// Where the filters' corners of a tile's first pixel are, its first channel, and the tap and the part of the channels
// that are copied next.
typedef struct {
    int x, y, picture, column, tap_x, tap_y, part;
} FUNC(sides);

INLINED FUNC(sides) FUNC(sides_of)(const int tile, const int step, const int parts ARGS) {
    const int2 corner = FUNC(corner_of)(tile PASS_ARGS);
    const int row = corner.y / OUTPUT0_SIZE_X, picture = row / OUTPUT0_SIZE_Y;
    FUNC(sides) sides;
    sides.x = (corner.y - row * OUTPUT0_SIZE_X) * ARG_STRIDE_X - ARG_PAD_X;
    sides.y = (row - picture * OUTPUT0_SIZE_Y) * ARG_STRIDE_Y - ARG_PAD_Y;
    sides.picture = picture;
    sides.column = corner.x;
    const int tap = step / parts;
    sides.part = step - tap * parts;
    sides.tap_y = tap / FILTER_X;
    sides.tap_x = tap - sides.tap_y * FILTER_X;
    return sides;
}

INLINED void FUNC(next_step)(FUNC(sides)* sides, const int parts) {
    if (++sides->part < parts) return;
    sides->part = 0;
    if (++sides->tap_x < FILTER_X) return;
    sides->tap_x = 0;
    ++sides->tap_y;
}

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(convolution_tma)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                        BIAS_PARAMETER global OUTPUT0_TYPE* restrict output, global SCRATCH0_TYPE* all_maps
                        SHARING_PARAMETERS ARGS) {
    local uchar memory[LOCAL_BYTES] __attribute__((aligned(STEP_ALIGNMENT)));
    global ulong* maps = (global ulong*)all_maps + get_group_id(0) * 2 * MAP_WORDS;
    const int parts = (INPUT1_SIZE_2 + DEPTH - 1) / DEPTH;
    if (get_local_id(0) == 0)
        FUNC(write_maps)(maps, (const global half*)input + INPUT0_OFFSET, (const global half*)weights + INPUT1_OFFSET
                         PASS_ARGS);
    FUNC(sides) sides;
#define FIND_SIDES(tile, s) sides = FUNC(sides_of)(tile, s, parts PASS_ARGS)
#define COPY_STEP(to, s, barrier) do { \
        BULK_COPY_PIXELS(to, maps, sides.part * DEPTH, sides.x, sides.y, sides.picture, sides.tap_x * ARG_DILATION_X, \
                         sides.tap_y * ARG_DILATION_Y, barrier); \
        BULK_COPY_3_LEAVING((to) + LEFT_BYTES, maps + MAP_WORDS, sides.part * DEPTH, \
                            sides.tap_y * FILTER_X + sides.tap_x, sides.column, barrier); \
        FUNC(next_step)(&sides, parts); \
    } while (0)
    COMPUTE_TILES(memory, FUNC(tiles_of)(PIXELS, OUTPUT0_SIZE_1), FILTER_Y * FILTER_X * parts);
}
