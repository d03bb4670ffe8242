// Sums up the probabilities of each row (INPUT0 [n, c], logarithms if IS_LOG), from the first class to each, as parts
// of the sum of all: SCRATCH0, f32 [n, c]. Any float type. One work-item does one row.
#include "clinfer.cl"

#ifndef IS_LOG
#define IS_LOG 0
#endif

KERNEL(sum_probabilities)(const global INPUT0_TYPE* restrict given, const global INPUT1_TYPE* restrict numbers,
                          global OUTPUT0_TYPE* restrict output, global float* restrict sums ARGS) {
    const int row = get_global_id(0);
    if (row >= INPUT0_SIZE_0) return;
    sums += row * INPUT0_SIZE_1;
    float sum = 0;
    for (int class = 0; class < INPUT0_SIZE_1; ++class) {
        const float value = INPUT0_LOAD(given, INPUT0_GET_INDEX(row, class));
        sum += IS_LOG ? exp(value) : value;
        sums[class] = sum;
    }
    for (int class = 0; class < INPUT0_SIZE_1; ++class) sums[class] /= fmax(sum, FLT_MIN);
}
