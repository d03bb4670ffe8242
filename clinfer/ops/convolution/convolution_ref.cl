// Convolution with groups, strides, dilations, padding and optional bias; any layout and type.
// One work-item computes one output element. Views: data and output [B, C, Z, Y, X], weights
// [G, O, I, Z, Y, X], bias [G * O], factor [B, C, 1, 1, 1]. Strides, dilations and pads (before) are arguments.
#include "clinfer.cl"

#include "factor.h"
#include "shared/bias.h"
#include "shared/spatial.h"

KERNEL(convolution_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                        BIAS_PARAMETER FACTOR_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    index_t at[MAX_RANK] = {0}, from[MAX_RANK] = {0}, tap[MAX_RANK] = {0};
    OUTPUT0_UNRAVEL((index_t)get_global_id(0), at);
    from[0] = at[0];
    tap[0] = at[1] / INPUT1_SIZE_1;
    tap[1] = at[1] - tap[0] * INPUT1_SIZE_1;
    INPUT0_COMPUTE sum = 0;
    for (tap[2] = 0; tap[2] < INPUT1_SIZE_2; ++tap[2]) {
        from[1] = tap[0] * INPUT1_SIZE_2 + tap[2];
        for (tap[3] = 0; tap[3] < INPUT1_SIZE_Z; ++tap[3]) {
            from[2] = at[2] * ARG_STRIDE_Z - ARG_PAD_Z + tap[3] * ARG_DILATION_Z;
            if (!IS_ON_AXIS(from[2], INPUT0_SIZE_Z)) continue;
            for (tap[4] = 0; tap[4] < INPUT1_SIZE_Y; ++tap[4]) {
                from[3] = at[3] * ARG_STRIDE_Y - ARG_PAD_Y + tap[4] * ARG_DILATION_Y;
                if (!IS_ON_AXIS(from[3], INPUT0_SIZE_Y)) continue;
                for (tap[5] = 0; tap[5] < INPUT1_SIZE_X; ++tap[5]) {
                    from[4] = at[4] * ARG_STRIDE_X - ARG_PAD_X + tap[5] * ARG_DILATION_X;
                    if (!IS_ON_AXIS(from[4], INPUT0_SIZE_X)) continue;
                    sum += INPUT0_LOAD(input, INPUT0_INDEX_OF(from)) * FACTOR_OF(at[0], from[1])
                           * INPUT1_LOAD(weights, INPUT1_INDEX_OF(tap));
                }
            }
        }
    }
    ADD_BIAS(sum, at[1]);
    FUSED_OPS(sum, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum);
}
