// Product of two planar matrices. One work-item computes one element.
#include "clinfer.cl"

KERNEL(toy_product)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                    global OUTPUT0_TYPE* restrict output ARGS) {
    const int row = get_global_id(0), column = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < INPUT0_SIZE_1; ++k)
        sum += INPUT0_LOAD(left, INPUT0_GET_INDEX(row, k)) * INPUT1_LOAD(right, INPUT1_GET_INDEX(k, column));
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(row, column), sum);
}
