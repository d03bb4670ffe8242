// Makes what the steps of recurrent_steps.cl start with. A work-item copies the states of one sequence in one direction
// into SCRATCH0, writes what its last states are where it has no steps, and zeros behind its end. The first sequence
// of a tile of ROWS sets the tile's counters to 0.
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

KERNEL(recurrent_start)(const global INPUT3_TYPE* restrict first_state, FIRST_CELL SEQUENCES
                        global OUTPUT1_TYPE* restrict last_state LAST_CELL,
                        global SCRATCH0_TYPE* restrict scratch, global SCRATCH1_TYPE* restrict turns ARGS) {
    const int d = (int)get_global_id(0) % DIRECTIONS, b = (int)get_global_id(0) / DIRECTIONS;
    const int count = LENGTH_OF(b);
    for (int u = 0; u < BLOCKS; ++u) {
        const int units = UNITS_OF(u), j = u * BLOCK;
        float16 state;
        TAKE(INPUT3, state, first_state, INPUT3_GET_INDEX(b, d, 0, j), INPUT3_PITCH_X, units);
        vstore16(state, u, scratch + STATE_AT(b, d, 0));
        if (count == 0) GIVE(OUTPUT1, last_state, OUTPUT1_GET_INDEX(b, d, 0, j), OUTPUT1_PITCH_X, units, state);
#if CELL == 0
        TAKE(INPUT4, state, first_cell, INPUT4_GET_INDEX(b, d, 0, j), INPUT4_PITCH_X, units);
        vstore16(state, u, scratch + KEPT_AT(b, d, 0));
        if (count == 0) GIVE(OUTPUT2, last_cell, OUTPUT2_GET_INDEX(b, d, 0, j), OUTPUT2_PITCH_X, units, state);
#endif
#if !IS_STEP
        for (int t = count; t < OUTPUT0_SIZE_2; ++t)
            GIVE(OUTPUT0, states, OUTPUT0_GET_INDEX(b, d, t, j), OUTPUT0_PITCH_X, units, (float16)0.0f);
#endif
    }
    const int tile = b / ARG_ROWS * DIRECTIONS + d;
    for (int share = 0; b % ARG_ROWS == 0 && share < SCRATCH1_SIZE_1; ++share)
        turns[CLAIMED_AT(tile, share)] = turns[DONE_AT(tile, share)] = 0;
}
