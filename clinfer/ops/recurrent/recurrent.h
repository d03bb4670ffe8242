// What kernels of recurrent networks take that not every network has, as parameters and as arguments:
//   FIRST_CELL, LAST_CELL  the cell states of an LSTM, which follow the first and the last hidden states
//   SEQUENCES              lengths and all hidden states, of what is more than one step
//   LENGTH_OF(b)           the steps of a sequence
#if CELL == 0
#define FIRST_CELL const global INPUT4_TYPE* restrict first_cell,
#define LAST_CELL , global OUTPUT2_TYPE* restrict last_cell
#define PASS_FIRST_CELL first_cell,
#define PASS_LAST_CELL , last_cell
#else
#define FIRST_CELL
#define LAST_CELL
#define PASS_FIRST_CELL
#define PASS_LAST_CELL
#endif
#if IS_STEP
#define SEQUENCES
#define PASS_SEQUENCES
#define LENGTH_OF(b) 1
#else
#define SEQUENCES const global INPUT5_TYPE* restrict lengths, global OUTPUT0_TYPE* restrict states,
#define PASS_SEQUENCES lengths, states,
#define LENGTH_OF(b) clamp((int)INPUT5_LOAD(lengths, INPUT5_GET_INDEX(b, 0, 0, 0)), 0, OUTPUT0_SIZE_2)
#endif

// What the kernels of whole vectors share. SCRATCH0 [B * D, T + 1, LANES, units] has rows of its own for every step of
// a sequence: the state before it, for an LSTM its cell state, for a GRU how much of the state is kept, and the state
// that it has reset. SCRATCH1 [tiles, shares, 2, 16] counts the turns for which each share of a tile was claimed, and
// those that are done.
#define BLOCK 16
#define BLOCKS CEIL_DIV(HIDDEN, BLOCK)
#define STATE_AT(b, d, i) SCRATCH0_GET_INDEX((b) * DIRECTIONS + (d), i, 0, 0)
#define KEPT_AT(b, d, i) SCRATCH0_GET_INDEX((b) * DIRECTIONS + (d), i, 1, 0)
#define RESET_AT(b, d, i) SCRATCH0_GET_INDEX((b) * DIRECTIONS + (d), i, 2, 0)
#define CLAIMED_AT(tile, share) SCRATCH1_GET_INDEX(tile, share, 0, 0)
#define DONE_AT(tile, share) SCRATCH1_GET_INDEX(tile, share, 1, 0)
#define UNITS_OF(u) (HIDDEN % BLOCK == 0 ? BLOCK : min(BLOCK, HIDDEN - (u) * BLOCK))

// Elements of an operand, `count` of a vector; the others are 0.
#define TAKE(T, into, p, from, pitch, count) \
    do { \
        if ((count) == BLOCK && (pitch) == 1) into = T##_LOAD16(p, from); \
        else { \
            float parts_[BLOCK] = {0}; \
            for (int n_ = 0; n_ < (count); ++n_) parts_[n_] = T##_LOAD(p, (from) + n_ * (pitch)); \
            into = vload16(0, parts_); \
        } \
    } while (0)
#define GIVE(T, p, to, pitch, count, value) \
    do { \
        if ((count) == BLOCK && (pitch) == 1) T##_STORE16(p, to, value); \
        else { \
            float parts_[BLOCK]; \
            vstore16(value, 0, parts_); \
            for (int n_ = 0; n_ < (count); ++n_) T##_STORE(p, (to) + n_ * (pitch), parts_[n_]); \
        } \
    } while (0)
