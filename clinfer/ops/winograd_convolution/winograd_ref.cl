// Convolution with filters that were transformed (winograd.h), and optional bias; any layout of f32.
// One work-item computes one output element. Views: data and output [B, C, 1, Y, X], weights [TILE_TAPS, O, C, 1, 1,
// 1], bias [O]. Pads (before) are arguments.
#include "clinfer.cl"

#include "shared/bias.h"
#include "shared/spatial.h"
#include "winograd.h"

// The transforms along an axis as matrices.
#ifndef DATA_MATRIX
#define DATA_MATRIX {{0}}
#define RESULT_MATRIX {{0}}
#endif
constant float FUNC(data_matrix)[TILE_SIDE][TILE_SIDE] = DATA_MATRIX;
constant float FUNC(result_matrix)[TILE_OUTPUTS][TILE_SIDE] = RESULT_MATRIX;

// An element of the transform of tiles to rows of `wide`, and of that of sums.
#define IN_BOTH(matrix, to, from, wide) \
    ((ALONG_Y ? FUNC(matrix)[(to) / (wide)][(from) / SIDE_X] : 1) * \
     (ALONG_X ? FUNC(matrix)[(to) % (wide)][(from) % SIDE_X] : 1))

KERNEL(winograd_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                     BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    index_t at[MAX_RANK] = {0}, from[MAX_RANK] = {0}, tap[MAX_RANK] = {0};
    OUTPUT0_UNRAVEL((index_t)get_global_id(0), at);
    const index_t y = at[3] % OUTPUTS_Y, x = at[4] % OUTPUTS_X;
    const index_t first_y = at[3] - y - ARG_PAD_Y, first_x = at[4] - x - ARG_PAD_X;
    from[0] = at[0];
    tap[1] = at[1];
    float sums[TILE_TAPS] = {0};
    for (from[1] = 0; from[1] < INPUT1_SIZE_2; ++from[1]) {
        tap[2] = from[1];
        float data[TILE_TAPS];
        for (int i = 0; i < TILE_TAPS; ++i) {
            from[3] = first_y + i / SIDE_X, from[4] = first_x + i % SIDE_X;
            const bool is_there = IS_ON_AXIS(from[3], INPUT0_SIZE_Y) && IS_ON_AXIS(from[4], INPUT0_SIZE_X);
            data[i] = is_there ? (float)INPUT0_LOAD(input, INPUT0_INDEX_OF(from)) : 0.0f;
        }
        for (tap[0] = 0; tap[0] < TILE_TAPS; ++tap[0]) {
            float value = 0;
            for (int i = 0; i < TILE_TAPS; ++i)
                value += IN_BOTH(data_matrix, tap[0], i, SIDE_X) * data[i];
            sums[tap[0]] += value * INPUT1_LOAD(weights, INPUT1_INDEX_OF(tap));
        }
    }
    OUTPUT0_COMPUTE result = 0;
    for (int i = 0; i < TILE_TAPS; ++i)
        result += IN_BOTH(result_matrix, y * OUTPUTS_X + x, i, OUTPUTS_X) * sums[i];
    ADD_BIAS(result, at[1]);
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
}
