// Tiles of convolutions, in either direction, on blocks of 16 channels, for CPUs: TILE_PIXELS pixels of a row x
// TILE_BLOCKS blocks of output channels, held in float16 registers. INPUT1 is the weights [G, O, I, Z, Y, X] in blocks
// of 16 input x 16 output channels, BIAS [G * O] in blocks of 16, OUTPUT0 as in channel_block.h.
#include "shared/bias.h"
#include "shared/channel_block.h"
#include "shared/fetching.h"

// Declares the batch, the group and `channel`, the first output channel in its group, of which a launch counts all
// together; a group has ARG_TILES tiles of channels.
#define PLACE_OF_CHANNELS(count) \
    const index_t batch = (count) / (ARG_TILES * INPUT1_SIZE_0), group = (count) / ARG_TILES % INPUT1_SIZE_0; \
    const index_t channel = (count) % ARG_TILES * TILE_BLOCKS * BLOCK

// Sets the sums to the bias, and `filters` to where the weights of each block of output channels begin: `channel` is
// the first of them in its group. The last block stands in for those that do not exist.
INLINED void FUNC(start_tile)(float16 sum[TILE_PIXELS][TILE_BLOCKS], index_t* filters, BIAS_PARAMETER
                              const index_t group, const index_t channel ARGS) {
    #pragma unroll
    for (int j = 0; j < TILE_BLOCKS; ++j) {
        const index_t own = min(channel + j * BLOCK, (INPUT1_SIZE_1 - 1) / BLOCK * BLOCK);
        const index_t at[MAX_RANK] = {group, own};
        filters[j] = INPUT1_INDEX_OF(at);
        const float16 start = BIAS16(group * INPUT1_SIZE_1 + own);
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i) sum[i][j] = start;
    }
}

// With FAR_WEIGHTS, which come from afar, those are asked for that lie some bytes ahead.
#ifndef FAR_WEIGHTS
#define FAR_WEIGHTS 0
#endif
#if FAR_WEIGHTS
#define FETCH_WEIGHTS(here) FETCH_LINE((const global uchar*)(here) + 3072)
#else
#define FETCH_WEIGHTS(here)
#endif

// Adds the products of `channels` input channels of one filter element: `pixels` has 16 channels of each pixel as
// floats, `filter` is the weights from that element on. With IN_PLACE there is the same for pixels where they lie.
#define ADDS_PRODUCTS(PIXELS) \
    (float16 sum[TILE_PIXELS][TILE_BLOCKS], PIXELS pixels, const global INPUT1_TYPE* filter, const index_t* filters, \
     const int channels) { \
        _Pragma("unroll 2") \
        for (int k = 0; k < channels; ++k) { \
            float16 weight[TILE_BLOCKS]; \
            _Pragma("unroll") \
            for (int j = 0; j < TILE_BLOCKS; ++j) { \
                FETCH_WEIGHTS(filter + filters[j] + k * BLOCK); \
                weight[j] = convert_float16(INPUT1_LOAD16(filter, filters[j] + k * BLOCK)); \
            } \
            _Pragma("unroll") \
            for (int i = 0; i < TILE_PIXELS; ++i) { \
                const float16 value = pixels[i * BLOCK + k]; \
                _Pragma("unroll") \
                for (int j = 0; j < TILE_BLOCKS; ++j) sum[i][j] = fma(value, weight[j], sum[i][j]); \
            } \
        } \
    }
INLINED void FUNC(add_products) ADDS_PRODUCTS(const float*)
#ifndef IN_PLACE
#define IN_PLACE 0
#endif
#if IN_PLACE
INLINED void FUNC(add_products_in_place) ADDS_PRODUCTS(const global float*)
#endif

// Applies the fused operations to the tile and stores it, from output channel `channel` of a group and pixel x on, to
// every `step`-th pixel.
INLINED void FUNC(store_tile)(global OUTPUT0_TYPE* output, float16 sum[TILE_PIXELS][TILE_BLOCKS],
                              const index_t batch, const index_t group, const index_t channel, const index_t z,
                              const index_t y, const index_t x, const int step ARGS) {
    #pragma unroll
    for (int j = 0; j < TILE_BLOCKS; ++j) {
        if (channel + j * BLOCK >= INPUT1_SIZE_1) continue;
        float16 block[TILE_PIXELS];
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i) block[i] = sum[i][j];
        index_t at[MAX_RANK] = {batch, group * INPUT1_SIZE_1 + channel + j * BLOCK, z, y, x};
        FUNC(store_block)(output, block, at, min(INPUT1_SIZE_1 - channel - j * BLOCK, (index_t)BLOCK), step PASS_ARGS);
    }
}
