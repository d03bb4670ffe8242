// Transposed convolution as matrix products through local memory, for GPUs; planar data, any type, groups.
// Outputs whose place in the full output leaves the same remainders when divided by the strides (a phase) read the
// same filter elements: each phase is a product weights [O, I] x data [I, pixels], summed over these elements.
// A group of 16 x 16 work-items computes a tile of TILE channels x TILE pixels of one phase, OWN x OWN of them
// each. It goes through the input channels of each filter element in steps of DEPTH: weights and data of the tile
// are copied to local memory (zeros for what lies outside), then multiplied from there.
// A phase is the first output pixel of its kind; STEP_Z, STEP_Y, STEP_X are the distances of its filter elements.
// Dimension 0: pixels of a phase, 1: channels, 2: batch, groups, phases.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X], bias [G * O].
#include "clinfer.cl"

#ifndef TILE
#define TILE 64
#define STEP_Z 1
#define STEP_Y 2
#define STEP_X 2
#endif

#include "shared/bias.h"
#include "shared/local_tiles.h"
#include "shared/spatial.h"

// The first filter element that reaches the outputs of a phase, or `size`, which none does.
int FUNC(first_tap)(const int place, const int stride, const int dilation, const int size) {
    int tap = 0;
    while (tap < size && tap * dilation % stride != place % stride) ++tap;
    return tap;
}

__attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
KERNEL(deconvolution_local)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                            BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local INPUT0_COMPUTE weight_tile[DEPTH * PITCH], data_tile[DEPTH * PITCH];
    const index_t first_channel = get_group_id(1) * TILE, first_pixel = get_group_id(0) * TILE;
    const int item_x = get_local_id(0), item_y = get_local_id(1), item = item_y * SIDE + item_x;
    const int phases = ARG_STRIDE_Z * ARG_STRIDE_Y * ARG_STRIDE_X;
    const index_t phase = (index_t)get_global_id(2) % phases, part = (index_t)get_global_id(2) / phases;
    const index_t batch = part / INPUT1_SIZE_0, group = part % INPUT1_SIZE_0;
    const index_t phase_x = phase % ARG_STRIDE_X, phase_y = phase / ARG_STRIDE_X % ARG_STRIDE_Y;
    const index_t phase_z = phase / ARG_STRIDE_X / ARG_STRIDE_Y;
    const index_t width = CEIL_DIV(OUTPUT0_SIZE_X, ARG_STRIDE_X), height = CEIL_DIV(OUTPUT0_SIZE_Y, ARG_STRIDE_Y);

    const index_t my_pixel = first_pixel + item % TILE;
    const index_t place_x = my_pixel % width * ARG_STRIDE_X + phase_x + ARG_PAD_X;
    const index_t place_y = my_pixel / width % height * ARG_STRIDE_Y + phase_y + ARG_PAD_Y;
    const index_t place_z = my_pixel / width / height * ARG_STRIDE_Z + phase_z + ARG_PAD_Z;
    const index_t from[MAX_RANK] = {batch, group * INPUT1_SIZE_2};
    const index_t start = INPUT0_INDEX_OF(from);

    INPUT0_COMPUTE sum[OWN][OWN];
    #pragma unroll
    for (int i = 0; i < OWN; ++i)
        #pragma unroll
        for (int j = 0; j < OWN; ++j) sum[i][j] = 0;

    index_t tap[MAX_RANK] = {group, first_channel};
    const index_t first_z = FUNC(first_tap)(phase_z + ARG_PAD_Z, ARG_STRIDE_Z, ARG_DILATION_Z, INPUT1_SIZE_Z);
    const index_t first_y = FUNC(first_tap)(phase_y + ARG_PAD_Y, ARG_STRIDE_Y, ARG_DILATION_Y, INPUT1_SIZE_Y);
    const index_t first_x = FUNC(first_tap)(phase_x + ARG_PAD_X, ARG_STRIDE_X, ARG_DILATION_X, INPUT1_SIZE_X);
    for (tap[3] = first_z; tap[3] < INPUT1_SIZE_Z; tap[3] += STEP_Z) {
        for (tap[4] = first_y; tap[4] < INPUT1_SIZE_Y; tap[4] += STEP_Y) {
            for (tap[5] = first_x; tap[5] < INPUT1_SIZE_X; tap[5] += STEP_X) {
                const index_t z = place_z - tap[3] * ARG_DILATION_Z, y = place_y - tap[4] * ARG_DILATION_Y;
                const index_t x = place_x - tap[5] * ARG_DILATION_X;
                const bool is_inside = z >= 0 && y >= 0 && x >= 0 && z / ARG_STRIDE_Z < INPUT0_SIZE_Z
                                       && y / ARG_STRIDE_Y < INPUT0_SIZE_Y && x / ARG_STRIDE_X < INPUT0_SIZE_X;
                const index_t pixel = start + z / ARG_STRIDE_Z * INPUT0_PITCH_Z + y / ARG_STRIDE_Y * INPUT0_PITCH_Y
                                  + x / ARG_STRIDE_X * INPUT0_PITCH_X;
                const index_t filter = INPUT1_INDEX_OF(tap);
                for (index_t base = 0; base < INPUT1_SIZE_2; base += DEPTH) {
                    #pragma unroll
                    for (int n = item; n < TILE * DEPTH; n += SIDE * SIDE) {
                        const int k = n / TILE, i = n % TILE;
                        weight_tile[k * PITCH + i] = first_channel + i < INPUT1_SIZE_1 && base + k < INPUT1_SIZE_2
                            ? INPUT1_LOAD(weights, filter + i * INPUT1_PITCH_1 + (base + k) * INPUT1_PITCH_2) : 0;
                    }
                    #pragma unroll
                    for (int k = item / TILE; k < DEPTH; k += SIDE * SIDE / TILE)
                        data_tile[k * PITCH + item % TILE] = is_inside && base + k < INPUT1_SIZE_2
                            ? INPUT0_LOAD(input, pixel + (base + k) * INPUT0_PITCH_1) : 0;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    FUNC(add_products)(sum, weight_tile, data_tile);
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
            }
        }
    }

    #pragma unroll
    for (int i = 0; i < OWN; ++i) {
        #pragma unroll
        for (int j = 0; j < OWN; ++j) {
            const index_t channel = first_channel + item_y + i * SIDE, pixel = first_pixel + item_x + j * SIDE;
            const index_t at[MAX_RANK] = {batch, group * INPUT1_SIZE_1 + channel,
                                      pixel / width / height * ARG_STRIDE_Z + phase_z,
                                      pixel / width % height * ARG_STRIDE_Y + phase_y,
                                      pixel % width * ARG_STRIDE_X + phase_x};
            if (channel >= INPUT1_SIZE_1 || at[2] >= OUTPUT0_SIZE_Z || at[3] >= OUTPUT0_SIZE_Y
                || at[4] >= OUTPUT0_SIZE_X) continue;
            ADD_BIAS(sum[i][j], at[1]);
            FUSED_OPS(sum[i][j], at)
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum[i][j]);
        }
    }
}
