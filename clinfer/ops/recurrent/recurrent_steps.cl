// The steps of a recurrent network for CPUs: CELL 0 LSTM, 1 GRU, 2 plain RNN; any float type, planar. INPUT0 projected
// input [B, D, T, gates * HIDDEN], INPUT1 recurrent weights [D, HIDDEN, gates, HIDDEN] in blocks of 16 units
// (d_us_kg_usv16), INPUT2 bias [1, 1, D, ...], INPUT3 hidden and INPUT4 cell state [B, D, 1, HIDDEN], INPUT5 lengths
// [B, 1, 1, 1]; OUTPUT0 all hidden states [B, D, T, HIDDEN], OUTPUT1 and OUTPUT2 the last states, like the first.
// IS_STEP: one step, without lengths and OUTPUT0. ACTIVATION_n: 0 sigmoid, 1 tanh, 2 relu, 3 hardsigmoid.
//
// A tile is ROWS sequences in one direction, whose steps are parted into SHARES of the blocks of units. A work-item (a
// group of its own) computes blocks, up to four sequences of a block at a time with their sums in registers.
// A turn is a step, or half of one of a GRU that resets its state before the product; it needs all of the turn before.
// So the groups of a tile claim shares, each preferring its own, and go on when all are done. A share that another
// group has claimed and does not finish for long, because its thread does not run, is done once more: what a turn
// writes no other turn writes, and whoever writes it writes the same. So no group depends on another one.
// DIRECT: a single turn; a group is a share, and states are read where they are given.
// ALONE: a group computes all shares of its tile, and makes what its steps start with.
#include "clinfer.cl"

#ifndef CELL
#define CELL 1
#define IS_STEP 1
#define HIDDEN 24
#define DIRECTIONS 1
#define LINEAR_BEFORE_RESET 0
#define REVERSED 0
#define CLIP 0.0f
#define DIRECT 0
#define ALONE 0
#define ACTIVATION_0 0
#define ACTIVATION_1 1
#define ACTIVATION_2 1
#define ARG_ROWS 4
#define ARG_SHARES 1
#define ARG_SLOTS 8
#define ARG_PATIENCE 1000
#define SCRATCH1_TYPE int
#define SCRATCH1_SIZE_1 1
#define SCRATCH1_GET_INDEX(c0, c1, c2, c3) (((c0) + (c1)) * 32 + (c2) * 16 + (c3))
#endif

#include "recurrent.h"
#if ALONE
#include "recurrent_first.h"
#endif

#define GATES (CELL == 0 ? 4 : CELL == 1 ? 3 : 1)
#define TURNS (CELL == 1 && !LINEAR_BEFORE_RESET ? 2 : 1)
#define MOST_ROWS 4
#define JOINED (GATES == 1 ? 4 : 1)
#define SUMS (GATES * JOINED)

#if DIRECT
#define SOURCE_TYPE INPUT3_TYPE
#define SOURCE_LOAD INPUT3_LOAD
#define SOURCE_PITCH_ROW INPUT3_PITCH_0
#define SOURCE_PITCH INPUT3_PITCH_X
#else
#define SOURCE_TYPE SCRATCH0_TYPE
#define SOURCE_LOAD SCRATCH0_LOAD
#define SOURCE_PITCH_ROW (DIRECTIONS * SCRATCH0_PITCH_0)
#define SOURCE_PITCH 1
#endif

// e^x within 2e-7 of it, for x of [-87, 88], beyond which it stays: Cody and Waite's reduction, and the polynomial of
// Cephes' expf. Unlike the library's it is no call, which would store all sums.
INLINED float16 FUNC(exponential)(float16 x) {
    x = -87.0f > x ? -87.0f : x;
    x = 88.0f < x ? 88.0f : x;
    const float16 n = rint(x * 1.44269504f);
    const float16 r = fma(n, 2.12194440e-4f, fma(n, -0.693359375f, x));
    float16 p = fma(r, 1.98756915e-4f, 1.39819995e-3f);
    p = fma(p, r, 8.33345191e-3f);
    p = fma(p, r, 4.16657959e-2f);
    p = fma(p, r, 1.66666655e-1f);
    p = fma(p, r, 5.00000012e-1f);
    p = fma(p, r * r, r + 1.0f);
    return as_float16(as_int16(p) + (convert_int16(n) << 23));
}

// tanh(x) within 3e-7 of it: the quotient of polynomials that Eigen takes.
INLINED float16 FUNC(hyperbolic_tangent)(float16 x) {
    x = -7.90531111f > x ? -7.90531111f : x;
    x = 7.90531111f < x ? 7.90531111f : x;
    const float16 square = x * x;
    float16 p = fma(square, -2.76076848e-16f, 2.00018790e-13f);
    p = fma(p, square, -8.60467152e-11f);
    p = fma(p, square, 5.12229709e-8f);
    p = fma(p, square, 1.48572236e-5f);
    p = fma(p, square, 6.37261929e-4f);
    p = fma(p, square, 4.89352456e-3f);
    float16 q = fma(square, 1.19825840e-6f, 1.18534706e-4f);
    q = fma(q, square, 2.26843463e-3f);
    q = fma(q, square, 4.89352519e-3f);
    return x * p / q;
}

INLINED float16 FUNC(activated)(const float16 x, const int activation) {
    if (activation == 0) return 1.0f / (1.0f + FUNC(exponential)(-x));
    if (activation == 3) return clamp(0.2f * x + 0.5f, 0.0f, 1.0f);
    return activation == 1 ? FUNC(hyperbolic_tangent)(x) : fmax(x, 0.0f);
}

#define ACTIVATED(n, x) FUNC(activated)((x), ACTIVATION_##n)
#define GATE(n, x) ACTIVATED(n, CLIP > 0 ? clamp((x), -CLIP, CLIP) : (x))

// Sums of a block of units are those of its gates; of a plain RNN, which has one, several blocks go side by side.
#define GATE_OF(v) (GATES == 1 ? 0 : (v))
#define UNITS_FROM(u, v) (((u) + (GATES == 1 ? (v) : 0)) * BLOCK)
#define UNITS_IN(u, v) UNITS_OF((u) + (GATES == 1 ? (v) : 0))
#define WEIGHTS_FROM(k, v) (GATES == 1 ? (v) * INPUT1_PITCH_3 + (k) * BLOCK : ((k) * GATES + (v)) * BLOCK)

// Adds to sums [rows][SUMS], of these [from, to), what a block of the weights gives with the states of some rows. Few
// sums are parted, so that additions need not wait for each other.
INLINED void FUNC(add_products)(float16* sums, const int rows, const int from, const int to,
                                const global INPUT1_TYPE* weights, const index_t block,
                                const global SOURCE_TYPE* source, const index_t state ARGS) {
    const int parts = rows * (to - from) >= 8 ? 1 : rows * (to - from) >= 3 ? 2 : 4;
    float16 own[4][MOST_ROWS][SUMS];
    #pragma unroll
    for (int s = 0; s < parts; ++s)
        #pragma unroll
        for (int r = 0; r < rows; ++r)
            #pragma unroll
            for (int v = from; v < to; ++v) own[s][r][v] = s == 0 ? sums[r * SUMS + v] : (float16)0.0f;
    int k = 0;
    for (; k + parts <= HIDDEN; k += parts)
        #pragma unroll
        for (int s = 0; s < parts; ++s) {
            float16 weight[SUMS];
            #pragma unroll
            for (int v = from; v < to; ++v) weight[v] = INPUT1_LOAD16(weights, block + WEIGHTS_FROM(k + s, v));
            #pragma unroll
            for (int r = 0; r < rows; ++r) {
                const float16 value = SOURCE_LOAD(source, state + r * SOURCE_PITCH_ROW + (k + s) * SOURCE_PITCH);
                #pragma unroll
                for (int v = from; v < to; ++v) own[s][r][v] = fma(value, weight[v], own[s][r][v]);
            }
        }
    for (; k < HIDDEN; ++k)
        #pragma unroll
        for (int r = 0; r < rows; ++r) {
            const float16 value = SOURCE_LOAD(source, state + r * SOURCE_PITCH_ROW + k * SOURCE_PITCH);
            #pragma unroll
            for (int v = from; v < to; ++v)
                own[0][r][v] = fma(value, INPUT1_LOAD16(weights, block + WEIGHTS_FROM(k, v)), own[0][r][v]);
        }
    #pragma unroll
    for (int r = 0; r < rows; ++r)
        #pragma unroll
        for (int v = from; v < to; ++v) {
            #pragma unroll
            for (int s = 1; s < parts; ++s) own[0][r][v] += own[s][r][v];
            sums[r * SUMS + v] = own[0][r][v];
        }
}

// What the kernel is given, for its parts.
#if DIRECT
#define STATES const global INPUT3_TYPE* restrict source
#else
#define STATES global SCRATCH0_TYPE* source
#endif
#define GIVEN const global INPUT0_TYPE* restrict projected, const global INPUT1_TYPE* restrict weights, \
    const global INPUT2_TYPE* restrict bias, FIRST_CELL SEQUENCES global OUTPUT1_TYPE* restrict last_state LAST_CELL, \
    STATES
#define PASS_GIVEN projected, weights, bias, PASS_FIRST_CELL PASS_SEQUENCES last_state PASS_LAST_CELL, source

// What the sums [from, to) of a sequence are before its state meets the weights; `given` is of a gate that is kept
// apart from them.
INLINED void FUNC(begin_sums)(float16* sums, float16* given, const int b, const int d, const int i, const int from,
                              const int to, const int u, GIVEN ARGS) {
    const int count = LENGTH_OF(b), step = min(i, count - 1);
    const int t = max(REVERSED || d == 1 ? count - 1 - step : step, 0);
    #pragma unroll
    for (int v = from; v < to; ++v) {
        const int units = UNITS_IN(u, v), j = UNITS_FROM(u, v), g = GATE_OF(v);
        float16 own, sum;
        TAKE(INPUT2, own, bias, INPUT2_GET_INDEX(0, 0, d, g * HIDDEN + j), INPUT2_PITCH_X, units);
        TAKE(INPUT0, sum, projected, INPUT0_GET_INDEX(b, d, t, g * HIDDEN + j), INPUT0_PITCH_X, units);
        sum += own;
#if CELL == 1 && LINEAR_BEFORE_RESET
        if (g == 2) {
            *given = sum;
            TAKE(INPUT2, sum, bias, INPUT2_GET_INDEX(0, 0, d, 3 * HIDDEN + j), INPUT2_PITCH_X, units);
        }
#endif
        sums[v] = sum;
    }
}

// What the sums of a sequence make of its units from j on.
INLINED void FUNC(end_sums)(const float16* sum, const float16 given, const int b, const int d, const int i,
                            const int turn, const int j, const int units, GIVEN ARGS) {
    const int count = LENGTH_OF(b);
    if (i >= count) return;
    float16 value;
#if CELL == 2
    value = GATE(0, sum[0]);
#else
    float16 before;
#if DIRECT && CELL == 0
    TAKE(INPUT4, before, first_cell, INPUT4_GET_INDEX(b, d, 0, j), INPUT4_PITCH_X, units);
#elif DIRECT
    TAKE(INPUT3, before, source, INPUT3_GET_INDEX(b, d, 0, j), INPUT3_PITCH_X, units);
#else
    before = vload16(0, source + (CELL == 0 ? KEPT_AT(b, d, i) : STATE_AT(b, d, i)) + j);
#endif
#if CELL == 0
    const float16 cell = GATE(0, sum[0]) * before + GATE(0, sum[1]) * GATE(1, sum[2]);
    value = GATE(0, sum[3]) * ACTIVATED(2, cell);
#if !DIRECT
    vstore16(cell, 0, source + KEPT_AT(b, d, i + 1) + j);
#endif
    if (i == count - 1) GIVE(OUTPUT2, last_cell, OUTPUT2_GET_INDEX(b, d, 0, j), OUTPUT2_PITCH_X, units, cell);
#elif LINEAR_BEFORE_RESET
    const float16 update = GATE(0, sum[0]);
    const float16 candidate = GATE(1, given + GATE(0, sum[1]) * sum[2]);
    value = (1.0f - update) * candidate + update * before;
#else
    if (turn == 0) {
        vstore16(GATE(0, sum[0]), 0, source + KEPT_AT(b, d, i) + j);
        vstore16(before * GATE(0, sum[1]), 0, source + RESET_AT(b, d, i) + j);
        return;
    }
    const float16 update = vload16(0, source + KEPT_AT(b, d, i) + j);
    value = (1.0f - update) * GATE(1, sum[2]) + update * before;
#endif
#endif
#if !DIRECT
    vstore16(value, 0, source + STATE_AT(b, d, i + 1) + j);
#endif
#if !IS_STEP
    const int t = REVERSED || d == 1 ? count - 1 - i : i;
    GIVE(OUTPUT0, states, OUTPUT0_GET_INDEX(b, d, t, j), OUTPUT0_PITCH_X, units, value);
#endif
    if (i == count - 1) GIVE(OUTPUT1, last_state, OUTPUT1_GET_INDEX(b, d, 0, j), OUTPUT1_PITCH_X, units, value);
}

// `count` blocks of units, from u on, of `rows` sequences from b on in direction d: step i, or a turn of it.
INLINED void FUNC(blocks)(const int rows, const int count, const int b, const int d, const int i, const int turn,
                          const int u, GIVEN ARGS) {
    const int all = GATES == 1 ? count : GATES;
    const int from = TURNS == 2 && turn == 1 ? 2 : 0, to = TURNS == 2 && turn == 0 ? 2 : all;
    float16 sums[MOST_ROWS * SUMS], given[MOST_ROWS];
    #pragma unroll
    for (int r = 0; r < rows; ++r)
        FUNC(begin_sums)(sums + r * SUMS, given + r, b + r, d, i, from, to, u, PASS_GIVEN PASS_ARGS);
#if DIRECT
    const index_t state = INPUT3_GET_INDEX(b, d, 0, 0);
#else
    const index_t state = turn == 1 ? RESET_AT(b, d, i) : STATE_AT(b, d, i);
#endif
    const index_t block = INPUT1_OFFSET + d * INPUT1_PITCH_0 + u * INPUT1_PITCH_3;
    // With constants, for which loops are unrolled.
    if (TURNS == 1) FUNC(add_products)(sums, rows, 0, all, weights, block, source, state PASS_ARGS);
    else if (turn == 0) FUNC(add_products)(sums, rows, 0, 2, weights, block, source, state PASS_ARGS);
    else FUNC(add_products)(sums, rows, 2, GATES, weights, block, source, state PASS_ARGS);
    #pragma unroll
    for (int r = 0; r < rows; ++r)
        #pragma unroll
        for (int n = 0; n < count; ++n)
            FUNC(end_sums)(sums + r * SUMS + n, given[r], b + r, d, i, turn, (u + n) * BLOCK, UNITS_OF(u + n),
                           PASS_GIVEN PASS_ARGS);
}

// The same of all sequences of a tile, which is [b, end).
INLINED void FUNC(rows)(int b, const int end, const int count, const int d, const int i, const int turn, const int u,
                        GIVEN ARGS) {
    for (; b + 4 <= end; b += 4) FUNC(blocks)(4, count, b, d, i, turn, u, PASS_GIVEN PASS_ARGS);
    if (b + 2 <= end) {
        FUNC(blocks)(2, count, b, d, i, turn, u, PASS_GIVEN PASS_ARGS);
        b += 2;
    }
    if (b < end) FUNC(blocks)(1, count, b, d, i, turn, u, PASS_GIVEN PASS_ARGS);
}

// A share of the blocks of a tile. Every other step goes through them backwards, so that it begins with those weights
// that are still in the nearest cache.
INLINED void FUNC(share)(const int b, const int end, const int d, const int i, const int turn, const int share,
                         GIVEN ARGS) {
    const int first = share * BLOCKS / ARG_SHARES, count = (share + 1) * BLOCKS / ARG_SHARES - first;
    const int runs = count / JOINED, singles = count % JOINED;
    for (int n = 0; n < runs; ++n) {
        const int u = first + (i % 2 ? runs - 1 - n : n) * JOINED;
        FUNC(rows)(b, end, JOINED, d, i, turn, u, PASS_GIVEN PASS_ARGS);
    }
    for (int n = 0; JOINED > 1 && n < singles; ++n)
        FUNC(rows)(b, end, 1, d, i, turn, first + runs * JOINED + n, PASS_GIVEN PASS_ARGS);
}

#if !DIRECT && !ALONE
// Whether all shares of a tile have done so many turns.
INLINED int FUNC(all_done)(volatile global int* turns, const int tile, const int wanted ARGS) {
    int done = 1;
    for (int share = 0; share < ARG_SHARES; ++share) done &= turns[DONE_AT(tile, share)] >= wanted;
    return done;
}
#endif

#if DIRECT
#define FIRST_STATE source
#define SCRATCHES
#else
#define FIRST_STATE first_state
#if ALONE
#define SCRATCHES , global SCRATCH0_TYPE* source
#else
#define SCRATCHES , global SCRATCH0_TYPE* source, volatile global SCRATCH1_TYPE* turns
#endif
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(recurrent_steps)(const global INPUT0_TYPE* restrict projected, const global INPUT1_TYPE* restrict weights,
                        const global INPUT2_TYPE* restrict bias, const global INPUT3_TYPE* restrict FIRST_STATE,
                        FIRST_CELL SEQUENCES global OUTPUT1_TYPE* restrict last_state LAST_CELL SCRATCHES ARGS) {
    const int slot = (long)get_group_id(0) * ARG_SLOTS / get_num_groups(0);
    const int tile = slot / ARG_SHARES, preferred = slot % ARG_SHARES;
    const int d = tile % DIRECTIONS, b = tile / DIRECTIONS * ARG_ROWS;
    const int end = min(b + ARG_ROWS, INPUT0_SIZE_0);
#if DIRECT
    FUNC(share)(b, end, d, 0, 0, preferred, PASS_GIVEN PASS_ARGS);
#else
    int steps = 0;
    for (int r = b; r < end; ++r) {
        steps = max(steps, LENGTH_OF(r));
#if ALONE
        FUNC(make_first)(r, d, first_state, PASS_FIRST_CELL PASS_SEQUENCES last_state PASS_LAST_CELL,
                         source PASS_ARGS);
#endif
    }
    for (int now = 0; now < steps * TURNS; ++now) {
#if ALONE
        FUNC(share)(b, end, d, now / TURNS, now % TURNS, 0, PASS_GIVEN PASS_ARGS);
#else
        for (int n = 0; n < 2 * ARG_SHARES; ++n) {
            const int share = (preferred + n) % ARG_SHARES, is_again = n >= ARG_SHARES;
            volatile global int* done = turns + DONE_AT(tile, share);
            if (n == ARG_SHARES)
                for (int wait = 0; wait < ARG_PATIENCE && !FUNC(all_done)(turns, tile, now + 1 PASS_ARGS); ++wait) {}
            if (*done > now) continue;
            if (!is_again && atomic_cmpxchg(turns + CLAIMED_AT(tile, share), now, now + 1) != now) continue;
            FUNC(share)(b, end, d, now / TURNS, now % TURNS, share, PASS_GIVEN PASS_ARGS);
            mem_fence(CLK_GLOBAL_MEM_FENCE);
            atomic_cmpxchg(done, now, now + 1);
        }
        mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
    }
#endif
}
