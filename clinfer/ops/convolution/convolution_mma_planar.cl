// Convolution of few channels on NVIDIA's tensor cores: f16, sums in float, planes in memory (pictures as they come),
// no groups, no dilation along x. The output's channels lie last.
// It is the product of pixels [B * Y * X, runs] by filters [runs, O], by the tiles of mma_tiles.h. A run is FILTER_X
// neighbours in a row of the data, and as many weights, filled up with zeros to chunks of 8; runs are in the order of
// the weights, channels and rows of the filter. Runs start anywhere, so that words around them are read and shifted;
// with PATCHES they start at multiples of 8 elements, and are as long, so that chunks are copied asynchronously.
// Views: data and output [B, C, Z, Y, X] with Z 1, weights [1, O, C, 1, Y, X], bias [O]. Groups: tiles.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 64
#define TILE_COLUMNS 64
#define DEPTH 64
#define STAGES 3
#define WARPS_DOWN 2
#define WARPS_ACROSS 2
#define COPYING_WARPS 0
#define FILTER_Y 7
#define FILTER_X 7
#define PATCHES 0
#endif
#define RUN_CHUNKS ((FILTER_X + 7) / 8)

#include "mma_pixels.h"

// Copies 8 halves to local memory, zeros where they are not from `low` on and below `high`. Words of which one half is
// there are read whole: memory is given out in words.
INLINED void FUNC(copy_part)(const uint to, const global half* from, const int low, const int high) {
    const int odd = (ulong)from / 2 % 2, begin = max(low, 0);
    const global uint* words = (const global uint*)(from - odd);
    uint read[5], packed[4];
    #pragma unroll
    for (int n = 0; n < 5; ++n) {
        const int first = n * 2 - odd;
        read[n] = begin < high && first + 1 >= begin && first < min(high, 8) ? words[n] : 0;
        if (first < begin) read[n] &= 0xFFFF0000;
        if (first + 1 >= high) read[n] &= 0xFFFF;
    }
    #pragma unroll
    for (int n = 0; n < 4; ++n)
        packed[n] = odd ? (uint)(((ulong)read[n + 1] << 32 | read[n]) >> 16) : read[n];
    STORE16(to, packed);
}

// Copies step s of both sides; `filters` is that of the tile's first column, of which `channels` are left.
INLINED void FUNC(copy_step)(const uint to, const int s, const FUNC(pixels)* pixels, const global half* filters,
                             const int channels ARGS) {
    const int chunk = s * (DEPTH / 8) + OWN_CHUNK, row = chunk / RUN_CHUNKS, along = chunk % RUN_CHUNKS * 8;
    const int channel = row / FILTER_Y, y = row % FILTER_Y * ARG_DILATION_Y;
    const int there = channel < INPUT1_SIZE_2 ? min(FILTER_X - along, 8) : 0;
#define COLUMN(i) min(OWN_ROW + (i) * ROWS_APART(DEPTH / 8), channels - 1)
#if PATCHES
#define FROM(i) (pixels->data[i] + (long)channel * INPUT0_PITCH_1 + (long)(pixels->y[i] + y) * INPUT0_PITCH_Y \
                 + pixels->x[i] + along)
#define HALVES(i) (pixels->x[i] + along >= 0 && (uint)(pixels->y[i] + y) < (uint)INPUT0_SIZE_Y \
                   ? clamp((int)INPUT0_SIZE_X - pixels->x[i] - along, 0, there) : 0)
    COPY_CHUNKS(COPY16, LEFT_COPIES, to + CHUNK_ALONG_K(OWN_ROW, OWN_CHUNK), THREADS * 16, FROM, HALVES, true);
#undef FROM
#undef HALVES
#define FROM(i) (filters + (long)COLUMN(i) * INPUT1_PITCH_1 + row * FILTER_X + along)
#define HALVES(i) there
    COPY_CHUNKS(COPY16_LEAVING, RIGHT_COPIES, to + LEFT_BYTES + CHUNK_ALONG_K(OWN_ROW, OWN_CHUNK), THREADS * 16, FROM,
                HALVES, true);
#undef FROM
#undef HALVES
#else
    #pragma unroll
    for (int i = 0; i < LEFT_COPIES; ++i) {
        const int at_y = pixels->y[i] + y, at_x = pixels->x[i] + along;
        const global half* from = pixels->data[i] + (long)channel * INPUT0_PITCH_1 + (long)at_y * INPUT0_PITCH_Y
            + at_x;
        FUNC(copy_part)(to + CHUNK_ALONG_K(OWN_ROW + i * ROWS_APART(DEPTH / 8), OWN_CHUNK), from, -at_x,
                        (uint)at_y < (uint)INPUT0_SIZE_Y ? min((int)INPUT0_SIZE_X - at_x, there) : 0);
    }
    #pragma unroll
    for (int i = 0; i < RIGHT_COPIES; ++i) {
        FUNC(copy_part)(to + LEFT_BYTES + CHUNK_ALONG_K(OWN_ROW + i * ROWS_APART(DEPTH / 8), OWN_CHUNK),
                        filters + (long)COLUMN(i) * INPUT1_PITCH_1 + row * FILTER_X + along, 0, there);
    }
#endif
}

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(convolution_mma_planar)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                               BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local uchar memory[LOCAL_BYTES] __attribute__((aligned(STEP_ALIGNMENT)));
    const int chunks = FILTER_Y * INPUT1_SIZE_2 * RUN_CHUNKS;
    FUNC(pixels) left;
    const global half* filters;
    int channels;
#define FIND_SIDES(tile) do { \
        const int2 corner_ = FUNC(corner_of)(tile PASS_ARGS); \
        FUNC(find_pixels)(&left, (const global half*)input, corner_.y, PIXELS PASS_ARGS); \
        filters = (const global half*)weights + INPUT1_OFFSET + (long)corner_.x * INPUT1_PITCH_1; \
        channels = OUTPUT0_SIZE_1 - corner_.x; \
    } while (0)
#define COPY_STEP(to, s) FUNC(copy_step)(to, s, &left, filters, channels PASS_ARGS)
    COMPUTE_TILES(memory, FUNC(tiles_of)(PIXELS, OUTPUT0_SIZE_1), (chunks + DEPTH / 8 - 1) / (DEPTH / 8));
}
