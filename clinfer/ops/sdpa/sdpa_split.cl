// Attention of a few queries to many keys, for GPUs: query [a, b, L, E], key [a, b, S, E], value [a, b, S, V], mask
// [a, b, L, S]; any pitches, any float type of 16 or 32 bits ("Flash-Decoding", Dao, Haziza, Massa and Sizov 2023).
// GROUPS of b share one of the b of keys and values, which are read for all of them at once: ROWS rows at most, the L
// queries of each.
// Work-groups share the keys of an entry, ARG_KEYS each, and go through them in blocks of KEYS, with a running maximum
// and sum per row. ABREAST rows are computed at a time, each by a work-item for each key. sdpa_split_sum.cl puts
// together what they find: totals [groups, ROWS, V], and maxima and sums [groups, ROWS, 2].
// IN_VECTORS: rows of keys and of values are whole vectors of elements that lie together.
// Groups: a times b of keys; shares of the keys.
#include "clinfer.cl"

#ifndef ROWS
#define ROWS 4
#define ABREAST 4
#define KEYS 64
#define QUERY_WIDTH 64
#define WIDTH 64
#define ARG_KEYS 64
#define ARG_SHARES 1
#define IN_VECTORS 0
#define LAST_ADDS 0
#endif

#include "extras.h"
#if LAST_ADDS
#include "split_sum.h"
#define LEFT_PARAMETERS global float* totals_found, global float* sums_found, global uint* counters, \
    global OUTPUT0_TYPE* restrict output

#ifdef __NV_CL_C_VERSION
// Counts to `last`, then from 0 again; what came before is there for whoever counts behind it.
#define COUNT_ARRIVAL(before, counter, last) \
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" \
        : "=r"(before) : "l"((ulong)(counter)), "r"(last) : "memory")
// Past the first level of caches, which does not hear of what other groups write.
#define FOUND_LOAD(to, p) asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(to) : "l"((ulong)(p)) : "memory")
#else
#define COUNT_ARRIVAL(before, counter, last) do { \
        mem_fence(CLK_GLOBAL_MEM_FENCE); \
        (before) = atomic_inc((volatile global uint*)(counter)); \
        if ((before) == (last)) *(volatile global uint*)(counter) = 0; \
        mem_fence(CLK_GLOBAL_MEM_FENCE); \
    } while (0)
#define FOUND_LOAD(to, p) ((to) = *(const volatile global float*)(p))
#endif

// For a whole group, once its items wrote what they leave: whether it is the last of so many to arrive at the counter,
// a zero that is a zero again then.
INLINED bool FUNC(arrives_last)(local int* flag, global uint* counter, const uint groups) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        uint before;
        COUNT_ARRIVAL(before, counter, groups - 1);
        *flag = before == groups - 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *flag;
}
#else
#define LEFT_PARAMETERS global float* restrict totals_found, global float* restrict sums_found
#endif

// Rows are loops, and what is known of each is in local memory: code that is run once, as in a megakernel, comes from
// memory first. All that a block needs of global memory is asked for before anything is waited for.
#define ITEMS (KEYS * ABREAST)
#define OWN_ROWS CEIL_DIV(ROWS, ABREAST)
#define OWN_QUERIES CEIL_DIV(ROWS * STEPS * VECTOR, ITEMS)
#define FOR_ROWS _Pragma("unroll 1") for (int r = item / KEYS; r < ROWS; r += ABREAST)
#define VECTOR 8
#define STEPS CEIL_DIV(QUERY_WIDTH, VECTOR)
// Work-items of a row with values: each has VECTOR neighbouring ones of every TURNS-th key.
#define ACROSS CEIL_DIV(WIDTH, VECTOR)
#define TURNS (KEYS / ACROSS)
#define OWN_KEYS CEIL_DIV(KEYS, TURNS)
// Of so many keys a work-item finds the highest score.
#define PART 8
#define PARTS (KEYS / PART)

// Eight elements of a row of so many, `first` of which come before; behind the last one it goes on.
#if IN_VECTORS
#define LOADING(T, N) \
    INLINED float8 FUNC(load##N)(const global T* row, const index_t from, const int first ARGS) { \
        return INPUT##N##_LOAD8(row, from + first); \
    }
#else
#define LOADING(T, N) \
    INLINED float8 FUNC(load##N)(const global T* row, const index_t from, const int first ARGS) { \
        float values[VECTOR]; \
        for (int n = 0; n < VECTOR; ++n) \
            values[n] = INPUT##N##_LOAD(row, from + min(first + n, (int)INPUT##N##_SIZE_3 - 1) * INPUT##N##_PITCH_3); \
        return vload8(0, values); \
    }
#endif
LOADING(INPUT1_TYPE, 1)
LOADING(INPUT2_TYPE, 2)

INLINED float FUNC(sum8)(const float8 v) {
    const float4 four = v.lo + v.hi;
    return (four.x + four.y) + (four.z + four.w);
}

__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
KERNEL(sdpa_split)(const global INPUT0_TYPE* restrict query, const global INPUT1_TYPE* restrict key,
                   const global INPUT2_TYPE* restrict value, EXTRAS LEFT_PARAMETERS ARGS) {
    local float8 queries[ROWS][STEPS], totals[ROWS][TURNS][ACROSS];
    local float masks[ROWS][KEYS], weights[ROWS][KEYS], tops[ROWS][PARTS], sums[ROWS][TURNS];
    local float highest[ROWS], next_highest[ROWS], rescales[ROWS];
    const int item = get_local_id(0), group = get_group_id(0), own_key = item % KEYS;
    const int turn = own_key / ACROSS, place = own_key % ACROSS;
    const int shares = CEIL_DIV((int)INPUT2_SIZE_2, ARG_KEYS), share = group % shares;
    const int heads = INPUT1_SIZE_1, b = group / shares % heads, a = group / shares / heads;
    const int length = INPUT0_SIZE_2, rows = GROUPS * length;
    const float scale = SCALE_OF_SCORES;
    FOR_ROWS {
        if (turn < TURNS) totals[r][turn][place] = 0;
        if (own_key < TURNS) sums[r][own_key] = 0;
        if (!own_key) highest[r] = -INFINITY;
    }
    const int end = min((share + 1) * ARG_KEYS, (int)INPUT2_SIZE_2);
    for (int first_key = share * ARG_KEYS; first_key < end; first_key += KEYS) {
        const int count = min(KEYS, end - first_key), at = min(first_key + own_key, end - 1);
        const bool is_first = first_key == share * ARG_KEYS;
        float8 keys[STEPS], values[OWN_KEYS];
        float own_queries[OWN_QUERIES], own_masks[OWN_ROWS];
        // Zeros behind the last element: what keys have there does not count.
        #pragma unroll
        for (int q = 0; q < OWN_QUERIES; ++q) {
            const int n = q * ITEMS + item, r = n / (STEPS * VECTOR), e = n % (STEPS * VECTOR);
            own_queries[q] = is_first && r < rows && e < INPUT0_SIZE_3
                ? INPUT0_LOAD(query, INPUT0_GET_INDEX(a, b * GROUPS + r / length, r % length, e)) : 0;
        }
        #pragma unroll
        for (int m = 0; m < OWN_ROWS; ++m) {
            const int r = m * ABREAST + item / KEYS, row = r % length;
            own_masks[m] = own_key >= count || r >= rows || (IS_CAUSAL && at > row) ? -INFINITY : 0;
#if WITH_MASK
            const index_t from = INPUT3_GET_INDEX(a, b * GROUPS + r / length, row, at);
#if MASK_IS_BOOLEAN
            if (own_masks[m] == 0 && !INPUT3_LOAD(mask, from)) own_masks[m] = -INFINITY;
#else
            if (own_masks[m] == 0) own_masks[m] = INPUT3_LOAD(mask, from);
#endif
#endif
        }
        const index_t key_row = INPUT1_GET_INDEX(ENTRY_OF_KEY(a, at), b, at, 0);
        #pragma unroll
        for (int e = 0; e < STEPS; ++e) keys[e] = FUNC(load1)(key, key_row, e * VECTOR PASS_ARGS);
        #pragma unroll
        for (int k = 0; k < OWN_KEYS; ++k) {
            const int own = min(first_key + k * TURNS + turn, end - 1);
            values[k] = FUNC(load2)(value, INPUT2_GET_INDEX(ENTRY_OF_KEY(a, own), b, own, 0), place * VECTOR PASS_ARGS);
        }
        if (is_first) {
            #pragma unroll
            for (int q = 0; q < OWN_QUERIES; ++q)
                if (q * ITEMS + item < ROWS * STEPS * VECTOR)
                    ((local float*)queries)[q * ITEMS + item] = own_queries[q] * scale;
        }
        #pragma unroll
        for (int m = 0; m < OWN_ROWS; ++m)
            if (m * ABREAST + item / KEYS < ROWS) masks[m * ABREAST + item / KEYS][own_key] = own_masks[m];
        barrier(CLK_LOCAL_MEM_FENCE);
        FOR_ROWS {
            float8 products = 0;
            #pragma unroll
            for (int e = 0; e < STEPS; ++e) products = fma(keys[e], queries[r][e], products);
            const float added = masks[r][own_key];
            weights[r][own_key] = added == -INFINITY ? -INFINITY : FUNC(sum8)(products) + added;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        FOR_ROWS {
            if (own_key >= PARTS) continue;
            float top = -INFINITY;
            for (int n = 0; n < PART; ++n) top = fmax(top, weights[r][own_key * PART + n]);
            tops[r][own_key] = top;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        FOR_ROWS {
            float top = highest[r];
            for (int n = 0; n < PARTS; ++n) top = fmax(top, tops[r][n]);
            const float base = top == -INFINITY ? 0 : top;
            weights[r][own_key] = exp(weights[r][own_key] - base);
            if (own_key) continue;
            rescales[r] = exp(highest[r] - base);
            next_highest[r] = top;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        FOR_ROWS {
            if (!own_key) highest[r] = next_highest[r];
            if (turn >= TURNS) continue;
            float8 total = 0;
            float sum = 0;
            #pragma unroll
            for (int k = 0; k < OWN_KEYS; ++k) {
                const float weight = k * TURNS + turn < KEYS ? weights[r][k * TURNS + turn] : 0;
                sum += weight;
                total = fma((float8)weight, values[k], total);
            }
            totals[r][turn][place] = fma(totals[r][turn][place], (float8)rescales[r], total);
            if (!place) sums[r][turn] = fma(sums[r][turn], rescales[r], sum);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 1
    for (int n = item; n < ROWS * WIDTH; n += ITEMS) {
        const int r = n / WIDTH, v = n % WIDTH;
        float total = 0;
        for (int t = 0; t < TURNS; ++t) total += ((const local float*)totals[r][t])[v];
        totals_found[(long)group * ROWS * WIDTH + n] = total;
    }
    for (int r = item; r < ROWS; r += ITEMS) {
        float sum = 0;
        for (int t = 0; t < TURNS; ++t) sum += sums[r][t];
        sums_found[((long)group * ROWS + r) * 2] = highest[r];
        sums_found[((long)group * ROWS + r) * 2 + 1] = sum;
    }
#if LAST_ADDS
    local int is_last;
    if (!FUNC(arrives_last)(&is_last, counters + group / shares, shares)) return;
    #pragma unroll 1
    for (int n = item; n < rows * WIDTH; n += ITEMS) {
        const int r = n / WIDTH;
        PUT_TOGETHER(totals_found, sums_found, output, a, b * GROUPS + r / length, r % length, n % WIDTH);
    }
#endif
}
