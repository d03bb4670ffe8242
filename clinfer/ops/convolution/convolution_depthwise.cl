// Depthwise convolution, channels last in memory, for GPUs: each channel has its own filter; any float type.
// A work-item computes four neighbouring channels of RUN pixels of a row. For each row of the filter it holds the
// pixels beneath them, WINDOW in all, zeros for those outside.
// Views: data and output [B, C, Z, Y, X] with a multiple of 4 channels, weights [C, 1, 1, Z, Y, X] in which those of a
// tap of 16 channels lie together (format gs_oizyx_gsv16), bias [C]. Dimension 0: channels, then runs of pixels.
#include "clinfer.cl"

#ifndef RUN
#define RUN 4
#define FILTER_Z 1
#define FILTER_Y 3
#define FILTER_X 3
#define STRIDE_X 1
#define DILATION_X 1
#endif

#include "shared/bias.h"
#include "shared/spatial.h"

#define NEAREST(c, size) clamp((int)(c), 0, (int)(size) - 1)
#define WINDOW ((RUN - 1) * STRIDE_X + (FILTER_X - 1) * DILATION_X + 1)

KERNEL(convolution_depthwise)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                              BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int fours = OUTPUT0_SIZE_1 / 4, runs = (OUTPUT0_SIZE_X + RUN - 1) / RUN;
    const int item = get_global_id(0), channel = item % fours * 4;
    const int first = item / fours % runs * RUN, row = item / fours / runs, plane = row / OUTPUT0_SIZE_Y;
    int at[MAX_RANK] = {plane / OUTPUT0_SIZE_Z, channel, plane % OUTPUT0_SIZE_Z, row % OUTPUT0_SIZE_Y, first};
    if (at[0] >= OUTPUT0_SIZE_0) return;

    INPUT0_COMPUTE4 sum[RUN], shift = 0;
    ADD_BIAS4(shift, channel);
    #pragma unroll
    for (int n = 0; n < RUN; ++n) sum[n] = shift;
    const int x = first * STRIDE_X - ARG_PAD_X;
    for (int tap_z = 0; tap_z < FILTER_Z; ++tap_z) {
        const int z = at[2] * ARG_STRIDE_Z - ARG_PAD_Z + tap_z * ARG_DILATION_Z;
        if (!IS_ON_AXIS(z, (int)INPUT0_SIZE_Z)) continue;
        // What is read does not depend on whether it counts, so that nothing waits for anything.
        #pragma unroll
        for (int tap_y = 0; tap_y < FILTER_Y; ++tap_y) {
            const int y = at[3] * ARG_STRIDE_Y - ARG_PAD_Y + tap_y * ARG_DILATION_Y;
            const bool is_row = IS_ON_AXIS(y, (int)INPUT0_SIZE_Y);
            const int from[MAX_RANK] = {at[0], channel, z, NEAREST(y, INPUT0_SIZE_Y)};
            const int filter[MAX_RANK] = {channel, 0, 0, tap_z, tap_y};
            const int data = INPUT0_INDEX_OF(from), taps = INPUT1_INDEX_OF(filter);
            INPUT0_COMPUTE4 window[WINDOW];
            #pragma unroll
            for (int i = 0; i < WINDOW; ++i) {
                const int at_x = NEAREST(x + i, INPUT0_SIZE_X);
                const INPUT0_COMPUTE4 pixel = INPUT0_LOAD4(input, data + at_x * INPUT0_PITCH_X);
                window[i] = is_row && at_x == x + i ? pixel : (INPUT0_COMPUTE4)(0);
            }
            #pragma unroll
            for (int tap_x = 0; tap_x < FILTER_X; ++tap_x) {
                const INPUT1_COMPUTE4 weight = INPUT1_LOAD4(weights, taps + tap_x * INPUT1_PITCH_X);
                #pragma unroll
                for (int n = 0; n < RUN; ++n) sum[n] += window[n * STRIDE_X + tap_x * DILATION_X] * weight;
            }
        }
    }
    #pragma unroll
    for (int n = 0; n < RUN; ++n) {
        at[4] = first + n;
        if (at[4] >= OUTPUT0_SIZE_X) break;
        FUSED_OPS4(sum[n], at, 1)
        OUTPUT0_STORE4(output, OUTPUT0_INDEX_OF(at), sum[n]);
    }
}
