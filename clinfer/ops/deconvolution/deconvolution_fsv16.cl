// Transposed convolution on b_fs_yx_fsv16 (or b_fs_zyx_fsv16) data and output, for CPUs.
// Outputs whose place in the full output leaves the same remainder when divided by the stride (a phase) read
// the same filter elements, and neighbours among them read neighbouring data: each phase of a row is an ordinary
// convolution. One work-item computes a tile of TILE_PIXELS pixels of one phase of one row x TILE_BLOCKS
// blocks of 16 output channels, held in float16 registers. For every block of input channels and every filter
// row it copies the data that the tile reads into `panel`, as floats, with zeros for what lies outside the data
// and for channels that do not exist; the multiplication then needs no checks.
// Dimension 0: phases, then tiles of one; 1: rows; 2: batch, groups, tiles of channels.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 input x 16 output
// channels (block tails are zero), bias [G * O] in blocks of 16 (the same).
// Limits: a tile reads at most PANEL_PIXELS pixels of a row; grouped channels are multiples of 16.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 14
#define TILE_BLOCKS 2
#define PANEL_PIXELS 64
#define HAS_BIAS 0
#define ARG_STRIDE_Z 1
#define ARG_STRIDE_Y 1
#define ARG_STRIDE_X 1
#define ARG_DILATION_Z 1
#define ARG_DILATION_Y 1
#define ARG_DILATION_X 1
#define ARG_PAD_Z 0
#define ARG_PAD_Y 0
#define ARG_PAD_X 0
#define ARG_REACH 0
#define ARG_TILES 1
#define INPUT0_SIZE_Z 1
#define INPUT1_SIZE_Z 1
#define INPUT1_PITCH_Z 0
#define OUTPUT0_SIZE_Z 1
#define BIAS_TYPE float
#define BIAS_LOAD16(p, i) LOAD16_f32(p, i)
#define BIAS_OFFSET 0
#endif

#define BLOCK 16

// Copies the pixels from `first` on of the row of data whose pixel 0 has index `row`; `channels` masks those
// that exist.
void FUNC(fill_panel)(float* panel, const global INPUT0_TYPE* input, const int row, const int first ARGS) {
    for (int i = 0; i < TILE_PIXELS + ARG_REACH; ++i) {
        const bool is_inside = (uint)(first + i) < (uint)INPUT0_SIZE_X;
        vstore16(is_inside ? INPUT0_LOAD16(input, row + (first + i) * BLOCK) : (float16)0.0f, i, panel);
    }
}

// Whether a filter element reaches `place` from an element of the data: then (place - reach) / stride.
#define HITS(place, reach, stride, size) ((place) >= (reach) && ((place) - (reach)) % (stride) == 0 \
                                          && ((place) - (reach)) / (stride) < (size))

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(deconvolution_fsv16)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
#if HAS_BIAS
                            const global BIAS_TYPE* restrict bias,
#endif
                            global OUTPUT0_TYPE* restrict output ARGS) {
    const int tile = (int)get_global_id(0) * TILE_PIXELS;
    for (int x = tile * ARG_STRIDE_X; x < min(OUTPUT0_SIZE_X, (tile + 1) * ARG_STRIDE_X); ++x) {
    const int y = (int)get_global_id(1) % OUTPUT0_SIZE_Y, z = (int)get_global_id(1) / OUTPUT0_SIZE_Y;
    const int batch = (int)get_global_id(2) / (ARG_TILES * INPUT1_SIZE_0);
    const int group = (int)get_global_id(2) / ARG_TILES % INPUT1_SIZE_0;
    const int channel = (int)get_global_id(2) % ARG_TILES * TILE_BLOCKS * BLOCK;

    int filters[TILE_BLOCKS];
    float16 sum[TILE_PIXELS][TILE_BLOCKS];
    #pragma unroll
    for (int j = 0; j < TILE_BLOCKS; ++j) {
        const int own = min(channel + j * BLOCK, (INPUT1_SIZE_1 - 1) / BLOCK * BLOCK);
        int at[MAX_RANK] = {group, own};
        filters[j] = INPUT1_INDEX_OF(at);
#if HAS_BIAS
        const float16 start = BIAS_LOAD16(bias, BIAS_OFFSET + group * INPUT1_SIZE_1 + own);
#else
        const float16 start = 0.0f;
#endif
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i) sum[i][j] = start;
    }

    const int place_x = x + ARG_PAD_X, place_y = y + ARG_PAD_Y, place_z = z + ARG_PAD_Z;
    const int phase = place_x % ARG_STRIDE_X;
    const int left = place_x / ARG_STRIDE_X - ARG_REACH;
    float panel[PANEL_PIXELS * BLOCK];
    for (int c = 0; c < INPUT1_SIZE_2; c += BLOCK) {
        const int channels = min(BLOCK, INPUT1_SIZE_2 - c);
        for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
            if (!HITS(place_z, kz * ARG_DILATION_Z, ARG_STRIDE_Z, INPUT0_SIZE_Z)) continue;
            for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
                if (!HITS(place_y, ky * ARG_DILATION_Y, ARG_STRIDE_Y, INPUT0_SIZE_Y)) continue;
                const int from[MAX_RANK] = {batch, group * INPUT1_SIZE_2 + c,
                                            (place_z - kz * ARG_DILATION_Z) / ARG_STRIDE_Z,
                                            (place_y - ky * ARG_DILATION_Y) / ARG_STRIDE_Y, 0};
                FUNC(fill_panel)(panel, input, INPUT0_INDEX_OF(from), left PASS_ARGS);
                const int tap = c / BLOCK * INPUT1_PITCH_2 + kz * INPUT1_PITCH_Z + ky * INPUT1_PITCH_Y;
                for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
                    const int reach = kx * ARG_DILATION_X;
                    if (reach % ARG_STRIDE_X != phase) continue;
                    const float* pixels = panel + (ARG_REACH - reach / ARG_STRIDE_X) * BLOCK;
                    const global INPUT1_TYPE* filter = weights + tap + kx * INPUT1_PITCH_X;
                    #pragma unroll 2
                    for (int k = 0; k < channels; ++k) {
                        float16 weight[TILE_BLOCKS];
                        #pragma unroll
                        for (int j = 0; j < TILE_BLOCKS; ++j)
                            weight[j] = INPUT1_LOAD16(filter, filters[j] + k * BLOCK);
                        #pragma unroll
                        for (int i = 0; i < TILE_PIXELS; ++i) {
                            const float16 value = pixels[i * BLOCK + k];
                            #pragma unroll
                            for (int j = 0; j < TILE_BLOCKS; ++j) sum[i][j] = fma(value, weight[j], sum[i][j]);
                        }
                    }
                }
            }
        }
    }

    #pragma unroll
    for (int j = 0; j < TILE_BLOCKS; ++j) {
        if (channel + j * BLOCK < INPUT1_SIZE_1) {
            const int at[MAX_RANK] = {batch, group * INPUT1_SIZE_1 + channel + j * BLOCK, z, y, x};
            const int first = OUTPUT0_INDEX_OF(at);
            #pragma unroll
            for (int i = 0; i < TILE_PIXELS; ++i)
                if (x + i * ARG_STRIDE_X < OUTPUT0_SIZE_X)
                    OUTPUT0_STORE16(output, first + i * ARG_STRIDE_X * BLOCK, sum[i][j]);
        }
    }
}
}
