// Convolution with filters of 3x3 that were transformed (winograd.h), and optional bias; any layout of f32.
// One work-item computes one output element. Views: data and output [B, C, 1, Y, X], weights [TILE_TAPS, O, C, 1, 1,
// 1], bias [O]. Pads (before) are arguments.
#include "clinfer.cl"

#include "shared/bias.h"
#include "shared/spatial.h"
#include "winograd.h"

// The transforms as matrices.
#if TILE_OUTPUTS == 2
constant float FUNC(data_matrix)[4][4] = {{-1, 0, 1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}};
constant float FUNC(result_matrix)[2][4] = {{1, 1, 1, 0}, {0, 1, -1, 1}};
#else
#define BOTH (POINT_A2 + POINT_B2)
#define AB (POINT_A * POINT_B2)
#define BA (POINT_B * POINT_A2)
#define A3 (POINT_A * POINT_A2)
#define B3 (POINT_B * POINT_B2)
constant float FUNC(data_matrix)[6][6] = {
    {POINT_A2 * POINT_B2, 0, -BOTH, 0, 1, 0}, {0, -AB, -POINT_B2, POINT_A, 1, 0}, {0, AB, -POINT_B2, -POINT_A, 1, 0},
    {0, -BA, -POINT_A2, POINT_B, 1, 0}, {0, BA, -POINT_A2, -POINT_B, 1, 0}, {0, POINT_A2 * POINT_B2, 0, -BOTH, 0, 1}};
constant float FUNC(result_matrix)[4][6] = {
    {1, 1, 1, 1, 1, 0}, {0, POINT_A, -POINT_A, POINT_B, -POINT_B, 0}, {0, POINT_A2, POINT_A2, POINT_B2, POINT_B2, 0},
    {0, A3, -A3, B3, -B3, 1}};
#endif

// An element of the transform of tiles along both axes, and of that of sums.
#define IN_BOTH(matrix, to, from, sides) \
    (FUNC(matrix)[(to) / (sides)][(from) / TILE_SIDE] * FUNC(matrix)[(to) % (sides)][(from) % TILE_SIDE])

KERNEL(winograd_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                     BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    index_t at[MAX_RANK] = {0}, from[MAX_RANK] = {0}, tap[MAX_RANK] = {0};
    OUTPUT0_UNRAVEL((index_t)get_global_id(0), at);
    const index_t y = at[3] % TILE_OUTPUTS, x = at[4] % TILE_OUTPUTS;
    const index_t first_y = at[3] - y - ARG_PAD_Y, first_x = at[4] - x - ARG_PAD_X;
    from[0] = at[0];
    tap[1] = at[1];
    float sums[TILE_TAPS] = {0};
    for (from[1] = 0; from[1] < INPUT1_SIZE_2; ++from[1]) {
        tap[2] = from[1];
        float data[TILE_TAPS];
        for (int i = 0; i < TILE_TAPS; ++i) {
            from[3] = first_y + i / TILE_SIDE, from[4] = first_x + i % TILE_SIDE;
            const bool is_there = IS_ON_AXIS(from[3], INPUT0_SIZE_Y) && IS_ON_AXIS(from[4], INPUT0_SIZE_X);
            data[i] = is_there ? (float)INPUT0_LOAD(input, INPUT0_INDEX_OF(from)) : 0.0f;
        }
        for (tap[0] = 0; tap[0] < TILE_TAPS; ++tap[0]) {
            float value = 0;
            for (int i = 0; i < TILE_TAPS; ++i)
                value += IN_BOTH(data_matrix, tap[0], i, TILE_SIDE) * data[i];
            sums[tap[0]] += value * INPUT1_LOAD(weights, INPUT1_INDEX_OF(tap));
        }
    }
    OUTPUT0_COMPUTE result = 0;
    for (int i = 0; i < TILE_TAPS; ++i)
        result += IN_BOTH(result_matrix, y * TILE_OUTPUTS + x, i, TILE_OUTPUTS) * sums[i];
    ADD_BIAS(result, at[1]);
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
}
