// Transposed convolution with groups, strides, dilations, padding and optional bias; any layout and type.
// One work-item computes one output element: it gathers the products that fall on it.
// Views: data and output [B, C, Z, Y, X], weights [G, O, I, Z, Y, X], bias [G * O]. Strides, dilations and
// pads (elements of the full output cut off in front) are arguments.
#include "clinfer.cl"

#include "shared/bias.h"
#include "shared/spatial.h"

// The element that reaches `place` of the full output through a filter element; -1 if there is none.
index_t FUNC(source)(const index_t place, const index_t reach, const index_t stride, const index_t size) {
    const index_t steps = place - reach;
    return steps >= 0 && steps % stride == 0 && steps / stride < size ? steps / stride : -1;
}

KERNEL(deconvolution_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                          BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t element = get_global_id(0);
    if (element >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK] = {0}, from[MAX_RANK] = {0}, tap[MAX_RANK] = {0};
    OUTPUT0_UNRAVEL(element, at);
    from[0] = at[0];
    tap[0] = at[1] / INPUT1_SIZE_1;
    tap[1] = at[1] - tap[0] * INPUT1_SIZE_1;
    INPUT0_COMPUTE sum = 0;
    for (tap[3] = 0; tap[3] < INPUT1_SIZE_Z; ++tap[3]) {
        from[2] = FUNC(source)(at[2] + ARG_PAD_Z, tap[3] * ARG_DILATION_Z, ARG_STRIDE_Z, INPUT0_SIZE_Z);
        if (from[2] < 0) continue;
        for (tap[4] = 0; tap[4] < INPUT1_SIZE_Y; ++tap[4]) {
            from[3] = FUNC(source)(at[3] + ARG_PAD_Y, tap[4] * ARG_DILATION_Y, ARG_STRIDE_Y, INPUT0_SIZE_Y);
            if (from[3] < 0) continue;
            for (tap[5] = 0; tap[5] < INPUT1_SIZE_X; ++tap[5]) {
                from[4] = FUNC(source)(at[4] + ARG_PAD_X, tap[5] * ARG_DILATION_X, ARG_STRIDE_X, INPUT0_SIZE_X);
                if (from[4] < 0) continue;
                for (tap[2] = 0; tap[2] < INPUT1_SIZE_2; ++tap[2]) {
                    from[1] = tap[0] * INPUT1_SIZE_2 + tap[2];
                    sum += INPUT0_LOAD(input, INPUT0_INDEX_OF(from)) * INPUT1_LOAD(weights, INPUT1_INDEX_OF(tap));
                }
            }
        }
    }
    ADD_BIAS(sum, at[1]);
    FUSED_OPS(sum, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum);
}
