// Draws numbers from INPUT1 up to but without INPUT2 by the Philox generator (4 words, 10 rounds; Salmon et al.,
// Parallel random numbers: as easy as 1, 2, 3, 2011), whose place, seed and key are INPUT3 [6]. Floats have BITS random
// bits; integers of 64 bits (IS_LONG) take two words each where their range is 2^32 or more. Any layout and type. One
// work-item draws NUMBERS numbers, one behind the other in row-major order.
#include "clinfer.cl"

#ifndef NUMBERS
#define NUMBERS 4
#define IS_FLOAT 1
#define IS_LONG 0
#define BITS 23
#endif

// The words of the block at a place.
void FUNC(draw)(ulong place, const global INPUT3_TYPE* state, uint* word) {
    word[0] = (uint)place;
    word[1] = (uint)(place >> 32);
    word[2] = state[2];
    word[3] = state[3];
    uint key[] = {state[4], state[5]};
    for (int round = 0; round < 10; ++round) {
        const ulong left = 0xD2511F53UL * word[0], right = 0xCD9E8D57UL * word[2];
        word[0] = (uint)(right >> 32) ^ word[1] ^ key[0];
        word[1] = (uint)right;
        word[2] = (uint)(left >> 32) ^ word[3] ^ key[1];
        word[3] = (uint)left;
        key[0] += 0x9E3779B9U;
        key[1] += 0xBB67AE85U;
    }
}

KERNEL(random_uniform_ref)(const global INPUT1_TYPE* restrict low, const global INPUT2_TYPE* restrict high,
                           const global INPUT3_TYPE* restrict state, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t first = (index_t)get_global_id(0) * NUMBERS;
    if (first >= OUTPUT0_COUNT) return;
    state += INPUT3_OFFSET;
    const ulong place = (ulong)state[0] | (ulong)state[1] << 32;
    const OUTPUT0_COMPUTE from = INPUT1_LOAD(low, INPUT1_OFFSET);
    const OUTPUT0_COMPUTE range = INPUT2_LOAD(high, INPUT2_OFFSET) - from;
    uint word[NUMBERS];
    FUNC(draw)(place + get_global_id(0), state, word);
#if IS_LONG
    const bool is_wide = (ulong)range >> 32 != 0;
    uint wide[2 * NUMBERS];
    for (int i = 0; i < 2 && is_wide; ++i) FUNC(draw)(place + get_global_id(0) * 2 + i, state, wide + i * NUMBERS);
#endif
    for (int i = 0; i < NUMBERS && first + i < OUTPUT0_COUNT; ++i) {
#if IS_FLOAT
        const float part = ((word[i] & 0x7FFFFFU) >> (23 - BITS)) * (1.0f / (1U << BITS));
        const OUTPUT0_COMPUTE number = part * range + from;
#elif IS_LONG
        const ulong drawn = is_wide ? (ulong)wide[2 * i + 1] << 32 | wide[2 * i] : word[i];
        const OUTPUT0_COMPUTE number = (OUTPUT0_COMPUTE)(drawn % max((ulong)range, (ulong)1)) + from;
#else
        const OUTPUT0_COMPUTE number = (OUTPUT0_COMPUTE)(word[i] % max((uint)range, 1U)) + from;
#endif
        index_t at[MAX_RANK];
        OUTPUT0_UNRAVEL(first + i, at);
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), number);
    }
}
