// Convolution as a matrix product through local memory, for GPUs; planar layouts, any type, groups.
// The product is weights [O, taps] x data [taps, pixels], where the taps run over input channels and the
// filter. A group of 16 x 16 work-items computes a tile of TILE channels x TILE pixels, OWN x OWN of them each.
// It goes through the taps in steps of DEPTH: weights and data of the tile are copied to local memory
// (zeros for what lies outside), then multiplied from there. Each work-item copies data of one pixel only.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X], bias [G * O], factor [B, C, 1, 1, 1].
#include "clinfer.cl"

#ifndef FILTER_X
#define TILE 64
#define FILTER_Z 1
#define FILTER_Y 1
#define FILTER_X 1
#endif

#include "factor.h"
#include "shared/bias.h"
#include "shared/local_tiles.h"
#include "shared/spatial.h"

#define TAPS (FILTER_Z * FILTER_Y * FILTER_X)

__attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
KERNEL(convolution_local)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                          BIAS_PARAMETER FACTOR_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local INPUT0_COMPUTE weight_tile[DEPTH * PITCH], data_tile[DEPTH * PITCH];
    const index_t first_channel = get_group_id(1) * TILE, first_pixel = get_group_id(0) * TILE;
    const int item_x = get_local_id(0), item_y = get_local_id(1), item = item_y * SIDE + item_x;
    const index_t batch = (index_t)get_global_id(2) / INPUT1_SIZE_0, group = (index_t)get_global_id(2) % INPUT1_SIZE_0;
    const index_t pixels = OUTPUT0_SIZE_Z * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, taps = INPUT1_SIZE_2 * TAPS;

    const index_t my_pixel = first_pixel + item % TILE;
    const index_t x = my_pixel % OUTPUT0_SIZE_X * ARG_STRIDE_X - ARG_PAD_X;
    const index_t y = my_pixel / OUTPUT0_SIZE_X % OUTPUT0_SIZE_Y * ARG_STRIDE_Y - ARG_PAD_Y;
    const index_t z = my_pixel / OUTPUT0_SIZE_X / OUTPUT0_SIZE_Y * ARG_STRIDE_Z - ARG_PAD_Z;
    const index_t from[MAX_RANK] = {batch, group * INPUT1_SIZE_2};
    const index_t start = INPUT0_INDEX_OF(from);
    const index_t group_at[MAX_RANK] = {group};
    const index_t weights_start = INPUT1_INDEX_OF(group_at);

    INPUT0_COMPUTE sum[OWN][OWN];
    #pragma unroll
    for (int i = 0; i < OWN; ++i)
        #pragma unroll
        for (int j = 0; j < OWN; ++j) sum[i][j] = 0;

    for (index_t base = 0; base < taps; base += DEPTH) {
        #pragma unroll
        for (int n = item; n < TILE * DEPTH; n += SIDE * SIDE) {
            const int k = n % DEPTH, i = n / DEPTH;
            weight_tile[k * PITCH + i] = first_channel + i < INPUT1_SIZE_1 && base + k < taps
                ? INPUT1_LOAD(weights, weights_start + (first_channel + i) * INPUT1_PITCH_1 + base + k) : 0;
        }
        #pragma unroll
        for (int k = item / TILE; k < DEPTH; k += SIDE * SIDE / TILE) {
            const index_t tap = base + k;
            const index_t from_x = x + tap % FILTER_X * ARG_DILATION_X;
            const index_t from_y = y + tap / FILTER_X % FILTER_Y * ARG_DILATION_Y;
            const index_t from_z = z + tap / (FILTER_X * FILTER_Y) % FILTER_Z * ARG_DILATION_Z;
            const bool is_inside = tap < taps && my_pixel < pixels && IS_ON_AXIS(from_x, INPUT0_SIZE_X)
                                   && IS_ON_AXIS(from_y, INPUT0_SIZE_Y) && IS_ON_AXIS(from_z, INPUT0_SIZE_Z);
            data_tile[k * PITCH + item % TILE] = is_inside
                ? INPUT0_LOAD(input, start + tap / TAPS * INPUT0_PITCH_1 + from_z * INPUT0_PITCH_Z
                                         + from_y * INPUT0_PITCH_Y + from_x * INPUT0_PITCH_X)
                  * FACTOR_OF(batch, group * INPUT1_SIZE_2 + tap / TAPS) : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        FUNC(add_products)(sum, weight_tile, data_tile);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    #pragma unroll
    for (int i = 0; i < OWN; ++i) {
        #pragma unroll
        for (int j = 0; j < OWN; ++j) {
            const index_t channel = first_channel + item_y + i * SIDE, pixel = first_pixel + item_x + j * SIDE;
            if (channel >= INPUT1_SIZE_1 || pixel >= pixels) continue;
            const index_t at[MAX_RANK] = {batch, group * INPUT1_SIZE_1 + channel,
                                          pixel / OUTPUT0_SIZE_X / OUTPUT0_SIZE_Y,
                                          pixel / OUTPUT0_SIZE_X % OUTPUT0_SIZE_Y, pixel % OUTPUT0_SIZE_X};
            ADD_BIAS(sum[i][j], at[1]);
            FUSED_OPS(sum[i][j], at)
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum[i][j]);
        }
    }
}
