// The steps of a recurrent network: CELL 0 LSTM, 1 GRU, 2 plain RNN; any float type and planar layout. INPUT0
// projected input [B, D, T, gates * HIDDEN], INPUT1 recurrent weights [D, HIDDEN, gates, HIDDEN], INPUT2 bias
// [1, 1, D, ...], INPUT3 hidden and INPUT4 cell state [B, D, 1, HIDDEN], INPUT5 lengths [B, 1, 1, 1]; OUTPUT0 all
// hidden states [B, D, T, HIDDEN], OUTPUT1 and OUTPUT2 the last states, like the first. IS_STEP: one step, without
// lengths and OUTPUT0.
// A work-group of LANES computes one sequence in one direction; a work-item every LANES-th hidden unit. The states
// of two steps, and what a unit keeps for itself, are in SCRATCH0 [B, D, 4, HIDDEN].
// ACTIVATION_n: 0 sigmoid, 1 tanh, 2 relu, 3 hardsigmoid.
#include "clinfer.cl"

#ifndef CELL
#define CELL 2
#define IS_STEP 1
#define HIDDEN 16
#define LINEAR_BEFORE_RESET 0
#define REVERSED 0
#define CLIP 0.0f
#define LANES 8
#define ACTIVATION_0 1
#endif

#include "recurrent.h"

float FUNC(activated)(float x, int activation) {
    if (activation == 0) return 1 / (1 + exp(-x));
    if (activation == 3) return clamp(0.2f * x + 0.5f, 0.0f, 1.0f);
    return activation == 1 ? tanh(x) : fmax(x, 0.0f);
}

#define ACTIVATED(n, x) FUNC(activated)((x), ACTIVATION_##n)
#define GATE(n, x) ACTIVATED(n, CLIP > 0 ? clamp((x), -CLIP, CLIP) : (x))

// Column j of the recurrent weights times a state.
float FUNC(recurrent_sum)(const global INPUT1_TYPE* weights, const global float* state, int d, int j ARGS) {
    float sum = 0;
    for (int k = 0; k < HIDDEN; ++k)
        sum += state[k] * INPUT1_LOAD(weights, INPUT1_GET_INDEX(d, k, j / HIDDEN, j % HIDDEN));
    return sum;
}

KERNEL(recurrent_ref)(const global INPUT0_TYPE* restrict projected, const global INPUT1_TYPE* restrict weights,
                      const global INPUT2_TYPE* restrict bias, const global INPUT3_TYPE* restrict first_state,
                      FIRST_CELL SEQUENCES global OUTPUT1_TYPE* restrict last_state LAST_CELL,
                      global SCRATCH0_TYPE* scratch ARGS) {
    const int group = get_group_id(0), lane = get_local_id(0);
    const int b = group / INPUT0_SIZE_1, d = group % INPUT0_SIZE_1;
    global float* state = scratch + SCRATCH0_GET_INDEX(b, d, 0, 0);
    global float* next = state + HIDDEN;
    global float* kept = next + HIDDEN;
    global float* reset = kept + HIDDEN;
    const int count = LENGTH_OF(b);
    for (int j = lane; j < HIDDEN; j += LANES) {
        state[j] = INPUT3_LOAD(first_state, INPUT3_GET_INDEX(b, d, 0, j));
#if CELL == 0
        kept[j] = INPUT4_LOAD(first_cell, INPUT4_GET_INDEX(b, d, 0, j));
#endif
    }
    for (int i = 0; i < count; ++i) {
        const int t = REVERSED || d == 1 ? count - 1 - i : i;
        barrier(CLK_GLOBAL_MEM_FENCE);
#define GIVEN(gate) (INPUT0_LOAD(projected, INPUT0_GET_INDEX(b, d, t, (gate) * HIDDEN + j)) \
                     + INPUT2_LOAD(bias, INPUT2_GET_INDEX(0, 0, d, (gate) * HIDDEN + j)))
#define RECURRENT(state, gate) FUNC(recurrent_sum)(weights, state, d, (gate) * HIDDEN + j PASS_ARGS)
#if CELL == 1 && !LINEAR_BEFORE_RESET
        for (int j = lane; j < HIDDEN; j += LANES)
            reset[j] = state[j] * GATE(0, GIVEN(1) + RECURRENT(state, 1));
        barrier(CLK_GLOBAL_MEM_FENCE);
#endif
        for (int j = lane; j < HIDDEN; j += LANES) {
#if CELL == 0
            const float forget = GATE(0, GIVEN(0) + RECURRENT(state, 0));
            const float input = GATE(0, GIVEN(1) + RECURRENT(state, 1));
            const float candidate = GATE(1, GIVEN(2) + RECURRENT(state, 2));
            const float output = GATE(0, GIVEN(3) + RECURRENT(state, 3));
            kept[j] = forget * kept[j] + input * candidate;
            const float value = output * ACTIVATED(2, kept[j]);
#elif CELL == 1
            const float update = GATE(0, GIVEN(0) + RECURRENT(state, 0));
#if LINEAR_BEFORE_RESET
            const float open = GATE(0, GIVEN(1) + RECURRENT(state, 1));
            const float own = INPUT2_LOAD(bias, INPUT2_GET_INDEX(0, 0, d, 3 * HIDDEN + j));
            const float candidate = GATE(1, GIVEN(2) + open * (RECURRENT(state, 2) + own));
#else
            const float candidate = GATE(1, GIVEN(2) + RECURRENT(reset, 2));
#endif
            const float value = (1 - update) * candidate + update * state[j];
#else
            const float value = GATE(0, GIVEN(0) + RECURRENT(state, 0));
#endif
            next[j] = value;
#if !IS_STEP
            OUTPUT0_STORE(states, OUTPUT0_GET_INDEX(b, d, t, j), value);
#endif
        }
        global float* before = state;
        state = next;
        next = before;
    }
    for (int j = lane; j < HIDDEN; j += LANES) {
#if !IS_STEP
        for (int t = count; t < OUTPUT0_SIZE_2; ++t) OUTPUT0_STORE(states, OUTPUT0_GET_INDEX(b, d, t, j), 0.0f);
#endif
        OUTPUT1_STORE(last_state, OUTPUT1_GET_INDEX(b, d, 0, j), state[j]);
#if CELL == 0
        OUTPUT2_STORE(last_cell, OUTPUT2_GET_INDEX(b, d, 0, j), kept[j]);
#endif
    }
}
