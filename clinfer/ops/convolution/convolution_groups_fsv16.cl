// Convolution of groups of GROUP input and as many output channels (1, which is depthwise, 2, 4 or 8) on
// b_fs_yx_fsv16 or b_fs_zyx_fsv16, for CPUs.
// One work-item computes TILE_PIXELS pixels of one row of 16 channels, held in float16 registers. An input channel of
// each group is multiplied at a time: LANES gives the channels of a pixel the n-th one of their groups.
// Pixels of the data are read where they lie; only tiles whose filter crosses a border check each pixel.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X] in blocks of 16 output channels of all groups,
// bias [G * O] in blocks of 16.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 8
#define GROUP 1
#endif

#include "shared/bias.h"
#include "shared/spatial.h"

#define BLOCK 16

#if GROUP == 1
#define EACH_INPUT(DO) DO(0, 0123456789abcdef)
#elif GROUP == 2
#define EACH_INPUT(DO) DO(0, 0022446688aaccee) DO(1, 1133557799bbddff)
#elif GROUP == 4
#define EACH_INPUT(DO) \
    DO(0, 000044448888cccc) DO(1, 111155559999dddd) DO(2, 22226666aaaaeeee) DO(3, 33337777bbbbffff)
#else
#define EACH_INPUT(DO) \
    DO(0, 0000000088888888) DO(1, 1111111199999999) DO(2, 22222222aaaaaaaa) DO(3, 33333333bbbbbbbb) \
    DO(4, 44444444cccccccc) DO(5, 55555555dddddddd) DO(6, 66666666eeeeeeee) DO(7, 77777777ffffffff)
#endif
#define LANES(pixel, places) ((pixel).s##places)

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_groups_fsv16)(const global INPUT0_TYPE* restrict input,
                                 const global INPUT1_TYPE* restrict weights,
                                 BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t x = (index_t)get_global_id(0) * TILE_PIXELS;
    const index_t y = (index_t)get_global_id(1) % OUTPUT0_SIZE_Y, z = (index_t)get_global_id(1) / OUTPUT0_SIZE_Y;
    const index_t blocks = CEIL_DIV(OUTPUT0_SIZE_1, BLOCK);
    const index_t batch = (index_t)get_global_id(2) / blocks, channel = (index_t)get_global_id(2) % blocks * BLOCK;

    float16 sum[TILE_PIXELS];
    #pragma unroll
    for (int i = 0; i < TILE_PIXELS; ++i) sum[i] = BIAS16(channel);

    const index_t left = x * ARG_STRIDE_X - ARG_PAD_X;
    const index_t right = left + (TILE_PIXELS - 1) * ARG_STRIDE_X + (INPUT1_SIZE_X - 1) * ARG_DILATION_X;
    const bool is_inside = left >= 0 && right < INPUT0_SIZE_X;
    const index_t start[MAX_RANK] = {channel / GROUP};
    for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
        const index_t from_z = z * ARG_STRIDE_Z - ARG_PAD_Z + kz * ARG_DILATION_Z;
        if (!IS_ON_AXIS(from_z, INPUT0_SIZE_Z)) continue;
        for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
            const index_t from_y = y * ARG_STRIDE_Y - ARG_PAD_Y + ky * ARG_DILATION_Y;
            if (!IS_ON_AXIS(from_y, INPUT0_SIZE_Y)) continue;
            const index_t from[MAX_RANK] = {batch, channel, from_z, from_y, 0};
            const index_t row = INPUT0_INDEX_OF(from);
            const index_t tap = INPUT1_INDEX_OF(start) + kz * INPUT1_PITCH_Z + ky * INPUT1_PITCH_Y;
            for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
                const index_t first = left + kx * ARG_DILATION_X, own = tap + kx * INPUT1_PITCH_X;
#define PIXEL(i) INPUT0_LOAD16(input, row + (first + (i) * ARG_STRIDE_X) * BLOCK)
#define ADD_INPUT(n, places) { \
        const float16 weight = convert_float16(INPUT1_LOAD16(weights, own + (n) * INPUT1_PITCH_2)); \
        _Pragma("unroll") \
        for (int i = 0; i < TILE_PIXELS; ++i) sum[i] = fma(LANES(PIXEL(i), places), weight, sum[i]); \
    }
#define ADD_INPUT_INSIDE(n, places) { \
        const float16 weight = convert_float16(INPUT1_LOAD16(weights, own + (n) * INPUT1_PITCH_2)); \
        _Pragma("unroll") \
        for (int i = 0; i < TILE_PIXELS; ++i) \
            if (IS_ON_AXIS(first + i * ARG_STRIDE_X, INPUT0_SIZE_X)) \
                sum[i] = fma(LANES(PIXEL(i), places), weight, sum[i]); \
    }
                if (is_inside) {
                    EACH_INPUT(ADD_INPUT)
                } else {
                    EACH_INPUT(ADD_INPUT_INSIDE)
                }
            }
        }
    }

    index_t at[MAX_RANK] = {batch, channel, z, y, x};
    const index_t first = OUTPUT0_INDEX_OF(at);
    #pragma unroll
    for (int i = 0; i < TILE_PIXELS; ++i, ++at[4])
        if (x + i < OUTPUT0_SIZE_X) {
            FUSED_OPS16(sum[i], at, 1)
            OUTPUT0_STORE16(output, first + i * BLOCK, sum[i]);
        }
}
