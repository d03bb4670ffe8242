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
#include "split_sum.h"

#define FOUND_LOAD(to, p) ((to) = *(p))

KERNEL(sdpa_split_sum)(const global float* restrict totals_found,
                       const global float* restrict sums_found,
                       SINK_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int at = get_global_id(0), v = at % WIDTH, place = at / WIDTH;
    const int row = place % OUTPUT0_SIZE_2, b = place / OUTPUT0_SIZE_2 % OUTPUT0_SIZE_1;
    PUT_TOGETHER(totals_found, sums_found, output, place / OUTPUT0_SIZE_2 / OUTPUT0_SIZE_1, b, row, v);
}
