// Puts together what the work-groups of sdpa_split.cl found of their shares of the keys: output [a, b, L, V], sink
// [a, b, L, 1].
// One work-item computes an element.
#include "clinfer.cl"

#ifndef ROWS
#define ROWS 4
#define WIDTH 64
#define ARG_SHARES 1
#endif

#include "extras.h"

KERNEL(sdpa_split_sum)(const global float* restrict totals_found,
                       const global float* restrict sums_found,
                       SINK_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int at = get_global_id(0), v = at % WIDTH, place = at / WIDTH;
    const int row = place % OUTPUT0_SIZE_2, b = place / OUTPUT0_SIZE_2 % OUTPUT0_SIZE_1;
    const int a = place / OUTPUT0_SIZE_2 / OUTPUT0_SIZE_1, heads = OUTPUT0_SIZE_1 / GROUPS;
    const long first = (long)(a * heads + b / GROUPS) * ARG_SHARES * ROWS + b % GROUPS * OUTPUT0_SIZE_2 + row;
    float highest, sum, total = 0;
    BEGIN_ROW(highest, sum, a, b, row);
    for (int share = 0; share < ARG_SHARES; ++share) {
        const long from = first + (long)share * ROWS;
        const float top = fmax(highest, sums_found[from * 2]), base = top == -INFINITY ? 0 : top;
        const float rescale = exp(highest - base), own = exp(sums_found[from * 2] - base);
        sum = sum * rescale + sums_found[from * 2 + 1] * own;
        total = total * rescale + totals_found[from * WIDTH + v] * own;
        highest = top;
    }
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(a, b, row, v), sum > 0 ? total / sum : 0);
}
