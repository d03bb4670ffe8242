// What the steps of a sequence start with: copies the states of sequence b in direction d into SCRATCH0, writes what
// its last states are where it has no steps, and zeros behind its end.
INLINED void FUNC(make_first)(const int b, const int d, const global INPUT3_TYPE* restrict first_state,
                              FIRST_CELL SEQUENCES global OUTPUT1_TYPE* restrict last_state LAST_CELL,
                              global SCRATCH0_TYPE* scratch ARGS) {
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
}
