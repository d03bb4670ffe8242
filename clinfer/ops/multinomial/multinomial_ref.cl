// Draws classes: the first whose sum (SCRATCH0, f32 [n, c], ascending, the last 1) is not below a random number
// (INPUT1 [n, m]); 0 where there is none. One work-item draws one class or, unless REPLACES, all of a row, one after
// the other, where the sums then go on without the class that was drawn.
#include "clinfer.cl"

#ifndef REPLACES
#define REPLACES 1
#endif

int FUNC(first_not_below)(const global float* sums, int count, float number) {
    int low = 0, high = count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (sums[middle] < number) low = middle + 1;
        else high = middle;
    }
    return low;
}

KERNEL(multinomial_ref)(const global INPUT0_TYPE* restrict given, const global INPUT1_TYPE* restrict numbers,
                        global OUTPUT0_TYPE* restrict output, global float* restrict sums ARGS) {
    const int item = get_global_id(0);
    const int row = REPLACES ? item / max((int)OUTPUT0_SIZE_1, 1) : item;
    if (row >= OUTPUT0_SIZE_0) return;
    sums += row * INPUT0_SIZE_1;
    const int first = REPLACES ? item % OUTPUT0_SIZE_1 : 0, last = REPLACES ? first + 1 : OUTPUT0_SIZE_1;
    for (int draw = first; draw < last; ++draw) {
        const int class = FUNC(first_not_below)(sums, INPUT0_SIZE_1, INPUT1_LOAD(numbers, INPUT1_GET_INDEX(row, draw)));
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(row, draw), class < INPUT0_SIZE_1 ? class : 0);
        if (REPLACES || class >= INPUT0_SIZE_1) continue;
        const float part = class > 0 ? sums[class] - sums[class - 1] : sums[0];
        for (int other = 0; other < INPUT0_SIZE_1; ++other)
            sums[other] = (sums[other] - (other >= class ? part : 0.0f)) / (1 - part);
    }
}
