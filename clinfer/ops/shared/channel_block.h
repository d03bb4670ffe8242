// Stores TILE_PIXELS pixels of a row x 16 channels, held in float16 registers, for CPUs. OUTPUT0 [B, C, Z, Y, X] lies
// in blocks of 16 channels or, with PLANAR_OUTPUT, without.
#define BLOCK 16

#ifndef PLANAR_OUTPUT
#define PLANAR_OUTPUT 0
#endif

#if PLANAR_OUTPUT
#define EXCHANGE(step, low, high) \
    for (int i = 0; i < BLOCK; ++i) \
        if (!(i & (step))) { \
            const float16 a = rows[i], b = rows[i + (step)]; \
            rows[i] = shuffle2(a, b, (uint16)low); \
            rows[i + (step)] = shuffle2(a, b, (uint16)high); \
        }

// Transposes 16 x 16 numbers.
INLINED void FUNC(transpose)(float16* rows) {
    #pragma unroll
    EXCHANGE(8, (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
             (8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
    #pragma unroll
    EXCHANGE(4, (0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
             (4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
    #pragma unroll
    EXCHANGE(2, (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
             (2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
    #pragma unroll
    EXCHANGE(1, (0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
             (1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
}
#endif

// Applies the fused operations and stores: `at` are the coordinates of the first channel of the first pixel, of which
// every `step`-th is stored, without blocks each; `channels` are left, 16 or more for a whole block.
INLINED void FUNC(store_block)(global OUTPUT0_TYPE* output, float16* block, index_t* at, const int channels,
                               const int step ARGS) {
#if PLANAR_OUTPUT
    const index_t x = at[4];
    const int pixels = min((index_t)TILE_PIXELS, OUTPUT0_SIZE_X - x);
    float16 rows[BLOCK];
    #pragma unroll
    for (int i = 0; i < BLOCK; ++i) rows[i] = block[min(i, TILE_PIXELS - 1)];
    FUNC(transpose)(rows);
    float lanes[BLOCK * BLOCK];
    #pragma unroll
    for (int i = 0; i < BLOCK; ++i) vstore16(rows[i], i, lanes);
    for (int k = 0; k < min(BLOCK, channels); ++k, ++at[1]) {
        at[4] = x;
        const index_t first = OUTPUT0_INDEX_OF(at);
        int i = 0;
        for (; i + 4 <= pixels; i += 4, at[4] += 4) {
            OUTPUT0_COMPUTE4 result = vload4(0, lanes + k * BLOCK + i);
            FUSED_OPS4(result, at, LAST)
            OUTPUT0_STORE4(output, first + i, result);
        }
        for (; i < pixels; ++i, ++at[4]) {
            OUTPUT0_COMPUTE result = lanes[k * BLOCK + i];
            FUSED_OPS(result, at)
            OUTPUT0_STORE(output, first + i, result);
        }
    }
#else
    const index_t first = OUTPUT0_INDEX_OF(at);
    #pragma unroll
    for (int i = 0; i < TILE_PIXELS; ++i, at[4] += step)
        if (at[4] < OUTPUT0_SIZE_X) {
            FUSED_OPS16(block[i], at, 1)
            OUTPUT0_STORE16(output, first + i * step * BLOCK, block[i]);
        }
#endif
}
