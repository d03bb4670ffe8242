// Convolution on NVIDIA's tensor cores: f16, sums in float, channels last in memory.
// For each group of channels it is the product of pixels [B * Z * Y * X, taps * C] by filters [taps * C, O] (implicit
// GEMM), by the tiles of mma_tiles.h: a step of the left side is gathered from the data, DEPTH elements of it, those of
// one tap in order of channels; zeros stand for pixels outside.
// Views: data and output [B, G * C, Z, Y, X], weights [G, O, C, Z, Y, X] in which all weights of a filter lie together,
// those of a tap first (format gozyxi), bias [G * O]. Z is 1 without VOLUMES, G without GROUPED. Groups: tiles.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 64
#define TILE_COLUMNS 64
#define DEPTH 32
#define STAGES 3
#define WARPS_DOWN 2
#define WARPS_ACROSS 2
#define COPYING_WARPS 0
#define FILTER_Z 1
#define FILTER_Y 3
#define FILTER_X 3
#endif
#include "mma_pixels.h"

#define OFFSET_ALONG_Z(z) (VOLUMES ? (long)(z) * INPUT0_PITCH_Z : 0)

// Which tap, and which channel of it, this work-item copies next.
typedef struct {
    int channel, z, y, x;
} FUNC(tap);

// Goes on to the channel at which the tap's channels from 0 on end, or behind it.
INLINED void FUNC(enter)(FUNC(tap)* tap ARGS) {
    while (tap->channel >= INPUT1_SIZE_2) {
        tap->channel -= INPUT1_SIZE_2;
        if (++tap->x < FILTER_X) continue;
        tap->x = 0;
        if (++tap->y < FILTER_Y || !VOLUMES) continue;
        tap->y = 0;
        ++tap->z;
    }
}

// Starts copying the chunk of a tap of all rows, whose data begins at their filters' corners, and goes on to that of
// the next step.
INLINED void FUNC(copy_pixels)(const uint to, const FUNC(pixels)* pixels, FUNC(tap)* tap, const bool aligned ARGS) {
    const bool is_tap = VOLUMES ? tap->z < FILTER_Z : tap->y < FILTER_Y;
    const int there = is_tap ? min((int)INPUT1_SIZE_2 - tap->channel, 8) : 0;
    const int z = tap->z * ARG_DILATION_Z, y = tap->y * ARG_DILATION_Y, x = tap->x * ARG_DILATION_X;
    const long offset = OFFSET_ALONG_Z(z) + (long)y * INPUT0_PITCH_Y + (long)x * INPUT0_PITCH_X + tap->channel;
#define FROM(i) (pixels->data[i] + offset)
#define HALVES(i) ((!VOLUMES || (uint)(pixels->z[i] + z) < (uint)INPUT0_SIZE_Z) \
                   && (uint)(pixels->y[i] + y) < (uint)INPUT0_SIZE_Y \
                   && (uint)(pixels->x[i] + x) < (uint)INPUT0_SIZE_X ? there : 0)
    COPY_CHUNKS(COPY16, LEFT_COPIES, to + CHUNK_ALONG_K(OWN_ROW, OWN_CHUNK), THREADS * 16, FROM, HALVES, aligned);
#undef FROM
#undef HALVES
    tap->channel += DEPTH;
    FUNC(enter)(tap PASS_ARGS);
}

// What a work-item copies of both sides of a tile.
typedef struct {
    FUNC(pixels) left;
    FUNC(tap) tap;
    const global half* right[RIGHT_COPIES];
} FUNC(sides);

INLINED void FUNC(find_sides)(FUNC(sides)* sides, const global half* input, const global half* filters,
                              const int tile ARGS) {
    const int2 corner = FUNC(corner_of)(tile PASS_ARGS);
    const long group = GROUP_OF(tile);
    FUNC(find_pixels)(&sides->left, input + group * INPUT1_SIZE_2, corner.y, PIXELS PASS_ARGS);
    #pragma unroll
    for (int i = 0; i < LEFT_COPIES; ++i)
        sides->left.data[i] += OFFSET_ALONG_Z(sides->left.z[i]) + (long)sides->left.y[i] * INPUT0_PITCH_Y
            + (long)sides->left.x[i] * INPUT0_PITCH_X;
    sides->tap = (FUNC(tap)){OWN_CHUNK * 8, 0, 0, 0};
    FUNC(enter)(&sides->tap PASS_ARGS);
    FIND_ROWS(sides->right, RIGHT_COPIES, filters + group * INPUT1_PITCH_0 + (long)corner.x * INPUT1_PITCH_1,
              GROUP_CHANNELS - corner.x - 1, INPUT1_PITCH_1);
}

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(convolution_mma)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                        BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local uchar memory[LOCAL_BYTES] __attribute__((aligned(STEP_ALIGNMENT)));
    const int depth = FILTER_Z * FILTER_Y * FILTER_X * INPUT1_SIZE_2;
    const bool left_aligned = IS_ALIGNED((const global half*)input + INPUT0_OFFSET, INPUT0_PITCH_0)
        && OFFSET_ALONG_Z(1) % 8 == 0 && INPUT0_PITCH_Y % 8 == 0 && INPUT0_PITCH_X % 8 == 0;
    const global half* filters = (const global half*)weights + INPUT1_OFFSET;
    const bool right_aligned = IS_ALIGNED(filters, INPUT1_PITCH_1);
    FUNC(sides) sides;
#define FIND_SIDES(tile) FUNC(find_sides)(&sides, (const global half*)input, filters, tile PASS_ARGS)
#define COPY_STEP(to, s) do { \
        FUNC(copy_pixels)(to, &sides.left, &sides.tap, left_aligned PASS_ARGS); \
        COPY_ROWS(COPY16_LEAVING, (to) + LEFT_BYTES, sides.right, RIGHT_COPIES, (s) * DEPTH, depth, right_aligned); \
    } while (0)
    COMPUTE_TILES(memory, FUNC(tiles_of)(PIXELS, GROUP_CHANNELS), (depth + DEPTH - 1) / DEPTH);
}
