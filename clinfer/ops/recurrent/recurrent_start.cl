// Makes what the steps of recurrent_steps.cl start with (recurrent_first.h), a work-item that of one sequence in one
// direction. The first sequence of a tile of ROWS sets the tile's counters to 0.
#include "clinfer.cl"

#ifndef CELL
#define CELL 1
#define IS_STEP 1
#define HIDDEN 24
#define DIRECTIONS 1
#define ARG_ROWS 4
#define SCRATCH1_TYPE int
#define SCRATCH1_SIZE_1 1
#define SCRATCH1_GET_INDEX(c0, c1, c2, c3) (((c0) + (c1)) * 32 + (c2) * 16 + (c3))
#endif

#include "recurrent.h"
#include "recurrent_first.h"

KERNEL(recurrent_start)(const global INPUT3_TYPE* restrict first_state, FIRST_CELL SEQUENCES
                        global OUTPUT1_TYPE* restrict last_state LAST_CELL,
                        global SCRATCH0_TYPE* restrict scratch, global SCRATCH1_TYPE* restrict turns ARGS) {
    const int d = (int)get_global_id(0) % DIRECTIONS, b = (int)get_global_id(0) / DIRECTIONS;
    FUNC(make_first)(b, d, first_state, PASS_FIRST_CELL PASS_SEQUENCES last_state PASS_LAST_CELL, scratch PASS_ARGS);
    const int tile = b / ARG_ROWS * DIRECTIONS + d;
    for (int share = 0; b % ARG_ROWS == 0 && share < SCRATCH1_SIZE_1; ++share)
        turns[CLAIMED_AT(tile, share)] = turns[DONE_AT(tile, share)] = 0;
}
