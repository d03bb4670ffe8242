// Copies channels between blocks of 16 of two tensors in which they start at different lanes.
// The views are [a, blocks, b, x] over whole blocks, whose lanes are contiguous. Of the output's blocks, lanes
// [ARG_FIRST, ARG_FIRST + ARG_CHANNELS), counted through, are written; lane l of output block n comes from lane
// 16 n + l + SHIFT of the input. One work-item copies up to RUN elements along x of one output block.
// Dimension 0: x by RUN, 1: b, 2: a times blocks.
#include "clinfer.cl"

#ifndef SHIFT
#define SHIFT 8
#define RUN 16
#define ARG_FIRST 8
#define ARG_CHANNELS 16
#endif

// The lanes below LIMIT come from input block n + BEFORE, the others from the one behind it.
#if SHIFT >= 0
#define BEFORE 0
#define LIMIT (16 - (SHIFT))
#else
#define BEFORE -1
#define LIMIT (-(SHIFT))
#endif

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(copy_blocks)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int b = get_global_id(1);
    const int a = (int)get_global_id(2) / OUTPUT0_SIZE_1;
    const int block = (int)get_global_id(2) % OUTPUT0_SIZE_1;
    const int first_x = (int)get_global_id(0) * RUN;
    const int last_x = min(first_x + RUN, OUTPUT0_SIZE_3);
    const int first = max(0, ARG_FIRST - block * 16);
    const int last = min(16, ARG_FIRST + ARG_CHANNELS - block * 16);
    for (int x = first_x; x < last_x; ++x) {
        global OUTPUT0_TYPE* to = output + OUTPUT0_GET_INDEX(a, block, b, x);
        const global INPUT0_TYPE* from = input + INPUT0_GET_INDEX(a, block + BEFORE, b, x);
        const global INPUT0_TYPE* behind = input + INPUT0_GET_INDEX(a, block + BEFORE + 1, b, x);
        if (first == 0 && last == 16) {
            for (int lane = 0; lane < LIMIT; ++lane) to[lane] = from[lane + 16 - LIMIT];
            for (int lane = LIMIT; lane < 16; ++lane) to[lane] = behind[lane - LIMIT];
        } else {
            for (int lane = first; lane < min(last, LIMIT); ++lane) to[lane] = from[lane + 16 - LIMIT];
            for (int lane = max(first, LIMIT); lane < last; ++lane) to[lane] = behind[lane - LIMIT];
        }
    }
}
