// Convolution of pictures of one pixel by filters of one: the product of a row of weights by the pixel's channels, for
// GPUs; any float type, no groups. A group of LANES work-items computes one element of the output.
// Views: data and output [B, C, 1, 1, 1] with channels that lie together, weights [1, O, C, 1, 1, 1] in rows, bias [O].
#include "clinfer.cl"

#ifndef LANES
#define LANES 32
#endif

#include "shared/bias.h"

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(convolution_one_pixel)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                              BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local INPUT0_COMPUTE shared[LANES];
    const int lane = get_local_id(0), channel = get_group_id(0) % OUTPUT0_SIZE_1, depth = INPUT1_SIZE_2;
    const int at[MAX_RANK] = {get_group_id(0) / OUTPUT0_SIZE_1, channel}, filter[MAX_RANK] = {0, channel};
    const int picture[MAX_RANK] = {at[0]};
    const int data = INPUT0_INDEX_OF(picture), taps = INPUT1_INDEX_OF(filter);
    INPUT0_COMPUTE4 sums = 0;
    #pragma unroll 4
    for (int i = lane * 4; i + 3 < depth; i += LANES * 4)
        sums += INPUT0_LOAD4(input, data + i) * INPUT1_LOAD4(weights, taps + i);
    INPUT0_COMPUTE sum = sums.x + sums.y + sums.z + sums.w;
    for (int i = depth / 4 * 4 + lane; i < depth; i += LANES)
        sum += INPUT0_LOAD(input, data + i) * INPUT1_LOAD(weights, taps + i);
    GROUP_ADD(sum, shared, lane, LANES);
    if (lane > 0) return;
    ADD_BIAS(sum, channel);
    FUSED_OPS(sum, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum);
}
