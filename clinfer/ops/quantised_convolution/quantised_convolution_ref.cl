// Convolution of whole numbers times a step with weights of i8, and optional bias; any layout.
// One work-item computes one output element. Views: data and output [B, C, Z, Y, X], weights [1, O, I, Z, Y, X], scales
// and bias [O], grid [1, 3]: 1 / step, zero point, step. Strides, dilations and pads (before) are arguments.
#include "clinfer.cl"

#include "shared/bias.h"
#include "shared/spatial.h"

KERNEL(quantised_convolution_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                                  const global INPUT2_TYPE* restrict scale, const global INPUT3_TYPE* restrict grid,
                                  BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    index_t at[MAX_RANK] = {0}, from[MAX_RANK] = {0}, tap[MAX_RANK] = {0};
    OUTPUT0_UNRAVEL((index_t)get_global_id(0), at);
    from[0] = at[0];
    tap[1] = at[1];
    const float per_step = INPUT3_LOAD(grid, INPUT3_OFFSET), zero = INPUT3_LOAD(grid, INPUT3_OFFSET + 1);
    const float step = INPUT3_LOAD(grid, INPUT3_OFFSET + 2);
    int sum = 0;
    for (from[1] = 0; from[1] < INPUT0_SIZE_1; ++from[1]) {
        tap[2] = from[1];
        for (tap[3] = 0; tap[3] < INPUT1_SIZE_3; ++tap[3]) {
            from[2] = at[2] * ARG_STRIDE_Z - ARG_PAD_Z + tap[3] * ARG_DILATION_Z;
            if (!IS_ON_AXIS(from[2], INPUT0_SIZE_Z)) continue;
            for (tap[4] = 0; tap[4] < INPUT1_SIZE_Y; ++tap[4]) {
                from[3] = at[3] * ARG_STRIDE_Y - ARG_PAD_Y + tap[4] * ARG_DILATION_Y;
                if (!IS_ON_AXIS(from[3], INPUT0_SIZE_Y)) continue;
                for (tap[5] = 0; tap[5] < INPUT1_SIZE_X; ++tap[5]) {
                    from[4] = at[4] * ARG_STRIDE_X - ARG_PAD_X + tap[5] * ARG_DILATION_X;
                    if (!IS_ON_AXIS(from[4], INPUT0_SIZE_X)) continue;
                    const float value = INPUT0_LOAD(input, INPUT0_INDEX_OF(from));
                    sum += (convert_uchar_sat_rte(fma(value, per_step, zero)) - (int)zero)
                           * (int)INPUT1_LOAD(weights, INPUT1_INDEX_OF(tap));
                }
            }
        }
    }
    OUTPUT0_COMPUTE result = sum * (step * INPUT2_LOAD(scale, INPUT2_OFFSET + at[1]));
    ADD_BIAS(result, at[1]);
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
}
