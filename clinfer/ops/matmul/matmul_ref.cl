// Matrix product with batches and optional bias; any layout and type.
// One work-item computes one output element. Views, all of one rank: left [..., M, K], right [..., K, N],
// output [..., M, N]; broadcast batch axes have pitch 0. The bias is [N].
#include "clinfer.cl"

#include "shared/bias.h"
#include "weights.h"

KERNEL(matmul_ref)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                   WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    index_t at[MAX_RANK], from_left[MAX_RANK], from_right[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(0), at);
    for (int axis = 0; axis < OUTPUT0_RANK; ++axis) from_left[axis] = from_right[axis] = at[axis];
    OUTPUT0_COMPUTE sum = 0;
    for (index_t k = 0; k < INPUT0_SIZE_LAST; ++k) {
        from_left[OUTPUT0_RANK - 1] = from_right[OUTPUT0_RANK - 2] = k;
        sum += INPUT0_LOAD(left, INPUT0_INDEX_OF(from_left))
            * RIGHT(INPUT1_LOAD(right, INPUT1_INDEX_OF(from_right)), k, at[OUTPUT0_RANK - 1]);
    }
    ADD_BIAS(sum, at[OUTPUT0_RANK - 1]);
    FUSED_OPS(sum, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum);
}
