// Convolution of f32 with filters that were transformed (winograd.h), from blocks of 16 channels (b_fs_yx_fsv16) to
// blocks, for CPUs.
// One work-item computes ARG_RUN blocks (tile_runs.h) of ARG_COUNT tiles of OUTPUTS_Y x OUTPUTS_X pixels, as they
// follow one another in all pictures, for ARG_ACROSS panels of TILE_BLOCKS x 16 output channels of ARG_PANELS in all.
// It puts the transformed data in scratch memory of its own (ARG_PLACE floats), multiplies them there, for each of the
// TILE_TAPS elements tiles x channels by channels x outputs, and transforms what that gives to pixels. TILE_ROWS tiles
// are multiplied at once, by assembly (float_products.h) with BY_ASSEMBLY.
// Views: data and output [B, C, 1, Y, X], weights [TILE_TAPS, O, C, 1, 1, 1] in blocks of 16 inputs x 16 outputs (tails
// of blocks are zero), bias [O] in blocks of 16 (the same).
// Dimension 0: runs of blocks, 1: groups of panels. ARG_COUNT is a multiple of TILE_ROWS.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define TILE_BLOCKS 2
#define BY_ASSEMBLY 0
#define ARG_COUNT 14
#define ARG_ACROSS 1
#define ARG_PANELS 1
#define ARG_PLACE 1
#define ARG_TILES 1
#endif
#define BLOCK 16

#include "shared/bias.h"
#include "shared/fetching.h"
#include "shared/spatial.h"
#include "shared/tile_runs.h"
#include "winograd.h"
#if BY_ASSEMBLY
#define VECTOR_FLOATS 8
#define TILES_OF_FLOATS 1
#define PANELS_JOINED 0
#include "shared/float_products.h"
#endif

// Channels of the data in whole blocks. For each element, the blocks of TILE_ROWS tiles that are multiplied at once lie
// side by side: [TILE_TAPS][ARG_COUNT / TILE_ROWS][DEPTH / BLOCK][TILE_ROWS][BLOCK].
#define DEPTH (CEIL_DIV(INPUT1_SIZE_2, BLOCK) * BLOCK)
#define PANEL (TILE_BLOCKS * BLOCK)
#define SUMS_PITCH (ARG_ACROSS * PANEL)

#define TILES_OF_ROW CEIL_DIV((index_t)OUTPUT0_SIZE_X, OUTPUTS_X)
#define TILES_OF_COLUMN CEIL_DIV((index_t)OUTPUT0_SIZE_Y, OUTPUTS_Y)
// Declares the picture of a tile and its first pixel.
#define PLACE_OF(tile) \
    const index_t row_ = (tile) / TILES_OF_ROW, batch = row_ / TILES_OF_COLUMN; \
    const index_t x = (tile) % TILES_OF_ROW * OUTPUTS_X, y = row_ % TILES_OF_COLUMN * OUTPUTS_Y

// The pixels that a tile reads of a block of channels, of which `channels` exist; `is_inside`: none lies outside.
INLINED void FUNC(load)(float16* pixels, const global float* data, const index_t y, const index_t x,
                        const bool is_inside, const int channels ARGS) {
    if (is_inside && channels >= BLOCK) {
        #pragma unroll
        for (int i = 0; i < TILE_TAPS; ++i)
            pixels[i] = vload16(0, data + (y + i / SIDE_X) * INPUT0_PITCH_Y + (x + i % SIDE_X) * BLOCK);
        return;
    }
    const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int i = 0; i < TILE_TAPS; ++i) {
        const index_t own_y = y + i / SIDE_X, own_x = x + i % SIDE_X;
        const bool is_there = IS_ON_AXIS(own_y, INPUT0_SIZE_Y) && IS_ON_AXIS(own_x, INPUT0_SIZE_X);
        pixels[i] = 0;
        if (is_there)
            pixels[i] = select((float16)0, vload16(0, data + own_y * INPUT0_PITCH_Y + own_x * BLOCK), lanes < channels);
    }
}

// Transforms the data of `count` tiles from `first` on.
void FUNC(transform_data)(global float* to, const global float* input, const index_t first, const int count ARGS) {
    for (int i = 0; i < count; ++i) {
        PLACE_OF(first + i);
        global float* own = to + (long)(i - i % TILE_ROWS) * DEPTH + i % TILE_ROWS * BLOCK;
        const index_t from_y = y - ARG_PAD_Y, from_x = x - ARG_PAD_X;
        const bool is_inside = from_y >= 0 && from_y + SIDE_Y <= INPUT0_SIZE_Y && from_x >= 0 &&
            from_x + SIDE_X <= INPUT0_SIZE_X;
        for (int channel = 0; channel < DEPTH; channel += BLOCK) {
            const index_t begin[MAX_RANK] = {batch, channel, 0, 0, 0};
            float16 pixels[TILE_TAPS];
            FUNC(load)(pixels, input + INPUT0_INDEX_OF(begin), from_y, from_x, is_inside,
                       INPUT1_SIZE_2 - channel PASS_ARGS);
#if ALONG_Y
            #pragma unroll
            for (int column = 0; column < SIDE_X; ++column) TRANSFORM_DATA(pixels + column, SIDE_X);
#endif
#if ALONG_X
            #pragma unroll
            for (int row = 0; row < TILE_TAPS; row += SIDE_X) TRANSFORM_DATA(pixels + row, 1);
#endif
            #pragma unroll
            for (int tap = 0; tap < TILE_TAPS; ++tap)
                vstore16(pixels[tap], 0, own + (long)tap * ARG_COUNT * DEPTH + channel * TILE_ROWS);
        }
    }
}

#if BY_ASSEMBLY
#define MULTIPLIER FRAME(frame); ulong taps[TAP_NUMBERS]; FUNC(begin)(frame, taps PASS_ARGS)
#define MULTIPLIER_PARAMETER ulong* frame,
#define PASS_MULTIPLIER frame,

INLINED void FUNC(begin)(ulong* frame, ulong* taps ARGS) {
    for (int i = 0; i < 8; ++i) frame[ZEROS + i] = 0;
    READ_ONCE(frame, taps, BLOCK * sizeof(float), TILE_ROWS - 1);
    frame[STEP_BYTES] = TILE_ROWS * BLOCK * sizeof(float);
    frame[OTHER_BYTES] = 32;
    frame[HALF_AT] = INPUT1_SIZE_2 % BLOCK > 0 && INPUT1_SIZE_2 % BLOCK <= BLOCK / 2;
    frame[FIRST_BEGINS] = 1;
}

// Products of TILE_ROWS tiles by a panel.
INLINED void FUNC(multiply_rows)(MULTIPLIER_PARAMETER global float* to, const global float* rows,
                                 const global float* columns, const global float* others, const int share ARGS) {
    vstore16((float16)0, 0, frame_sums(frame));
    frame[LEFT_AT] = (ulong)rows;
    frame[RIGHT_AT] = (ulong)columns;
    frame[LATER_AT] = (ulong)(columns + DEPTH * BLOCK) + share * (DEPTH / BLOCK) * LATER_BYTES;
    frame[STEP_COUNT] = DEPTH / BLOCK;
    ADD_PRODUCTS(frame);
    #pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i) vstore16(vload16(i, frame_sums(frame)), 0, to + i * SUMS_PITCH);
}
#else
#define MULTIPLIER
#define MULTIPLIER_PARAMETER
#define PASS_MULTIPLIER

INLINED void FUNC(multiply_rows)(MULTIPLIER_PARAMETER global float* to, const global float* rows,
                                 const global float* columns, const global float* others, const int share ARGS) {
    // The next panel is asked for, a block by each of the first rows that meet this one.
    const bool asks = share < TILE_BLOCKS;
    const global float* later = asks ? columns + (TILE_BLOCKS + share) * DEPTH * BLOCK : columns;
    const int later_step = asks ? BLOCK : 0;
    float16 sums[TILE_ROWS][TILE_BLOCKS];
    #pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i)
        for (int j = 0; j < TILE_BLOCKS; ++j) sums[i][j] = 0;
    for (int block = 0; block < DEPTH; block += BLOCK, rows += TILE_ROWS * BLOCK)
        #pragma unroll 2
        for (int k = 0; k < BLOCK; ++k) {
            FETCH_LINE(later + (block + k) * later_step);
            float16 weights[2] = {vload16(block + k, columns)};
            if (TILE_BLOCKS > 1) weights[1] = vload16(block + k, others);
            #pragma unroll
            for (int i = 0; i < TILE_ROWS; ++i) {
                const float16 value = rows[i * BLOCK + k];
                #pragma unroll
                for (int j = 0; j < TILE_BLOCKS; ++j) sums[i][j] = fma(value, weights[j], sums[i][j]);
            }
        }
    #pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i)
        #pragma unroll
        for (int j = 0; j < TILE_BLOCKS; ++j) vstore16(sums[i][j], j, to + i * SUMS_PITCH);
}
#endif

// Multiplies the data of `count` tiles by `panels` panels of weights from channel `first` on, to sums [TILE_TAPS]
// [ARG_COUNT][SUMS_PITCH]. A call of its own, across which no vector lives: assembly for narrow vectors keeps but a
// part of wider ones.
__attribute__((noinline))
void FUNC(multiply)(global float* sums, const global float* data, const global float* weights, const int count,
                    const int first, const int panels ARGS) {
    MULTIPLIER;
    for (int tap = 0; tap < TILE_TAPS; ++tap)
        for (int panel = 0; panel < panels; ++panel) {
            const int channel = first + panel * PANEL;
            const index_t own[MAX_RANK] = {tap, channel};
            const index_t next[MAX_RANK] = {tap, min(channel + BLOCK, ((int)INPUT1_SIZE_1 - 1) / BLOCK * BLOCK)};
            const global float* columns = weights + INPUT1_INDEX_OF(own);
            const global float* others = weights + INPUT1_INDEX_OF(next);
            for (int i = 0; i < count; i += TILE_ROWS) {
                const long row = (long)tap * ARG_COUNT + i;
                FUNC(multiply_rows)(PASS_MULTIPLIER sums + row * SUMS_PITCH + panel * PANEL, data + row * DEPTH,
                                    columns, others, i / TILE_ROWS PASS_ARGS);
            }
        }
}

// Transforms the sums of `count` tiles from `tile` on, and stores the pixels of so many channels from `channel` on.
void FUNC(store)(global OUTPUT0_TYPE* output, BIAS_PARAMETER const global float* sums, const index_t tile,
                 const int count, const int channel, const int channels ARGS) {
    for (int i = 0; i < count; ++i) {
        PLACE_OF(tile + i);
        const int rows = min((index_t)OUTPUTS_Y, OUTPUT0_SIZE_Y - y);
        const int width = min((index_t)OUTPUTS_X, OUTPUT0_SIZE_X - x);
        for (int own = 0; own < channels; own += BLOCK) {
            float16 pixels[TILE_TAPS];
            #pragma unroll
            for (int tap = 0; tap < TILE_TAPS; ++tap)
                pixels[tap] = vload16(0, sums + ((long)tap * ARG_COUNT + i) * SUMS_PITCH + own);
#if ALONG_Y
            #pragma unroll
            for (int column = 0; column < SIDE_X; ++column) TRANSFORM_RESULT(pixels + column, SIDE_X);
#endif
#if ALONG_X
            #pragma unroll
            for (int row = 0; row < OUTPUTS_Y; ++row) TRANSFORM_RESULT(pixels + row * SIDE_X, 1);
#endif
            const float16 start = BIAS16(channel + own);
            index_t at[MAX_RANK] = {batch, channel + own, 0, y, x};
            for (int row = 0; row < rows; ++row, ++at[3]) {
                at[4] = x;
                const index_t to = OUTPUT0_INDEX_OF(at);
                #pragma unroll 1
                for (int column = 0; column < width; ++column, ++at[4]) {
                    OUTPUT0_COMPUTE16 result = pixels[row * SIDE_X + column] + start;
                    FUSED_OPS16(result, at, 1)
                    OUTPUT0_STORE16(output, to + column * BLOCK, result);
                }
            }
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(winograd)(const global float* restrict input, const global float* restrict weights,
                 BIAS_PARAMETER global OUTPUT0_TYPE* restrict output, global float* restrict scratch ARGS) {
    const int part = (int)get_global_id(1), panels = min(ARG_ACROSS, ARG_PANELS - part * ARG_ACROSS);
    const int channel = part * ARG_ACROSS * PANEL, channels = min(panels * PANEL, (int)INPUT1_SIZE_1 - channel);
    global float* data = scratch + ((long)get_global_id(0) * get_global_size(1) + part) * ARG_PLACE;
    global float* sums = data + (long)TILE_TAPS * ARG_COUNT * DEPTH;
    EACH_TILE_OF_RUN(0, block, CEIL_DIV((index_t)ARG_TILES, ARG_COUNT)) {
        const index_t first = block * ARG_COUNT;
        const int count = min((index_t)ARG_COUNT, (index_t)ARG_TILES - first);
        FUNC(transform_data)(data, input, first, count PASS_ARGS);
        FUNC(multiply)(sums, data, weights, count, channel, panels PASS_ARGS);
        FUNC(store)(output, PASS_BIAS sums, first, count, channel, channels PASS_ARGS);
    }
}
