// Attention; any layout and float type, rank MAX_RANK at most. INPUT0 query [..., L, E], INPUT1 key [..., S, E],
// INPUT2 value [..., S, V], INPUT3 mask [..., L, S], INPUT4 scale, INPUT5 sink [..., L, 1]; the batch axes of all
// are stretched to the output's, except that GROUPS heads (axis -3) share one of key and value. One work-item computes
// CHUNK elements of one output row, walking the keys once with a running maximum and sum. The last work-group is not
// full.
#include "clinfer.cl"

#ifndef CHUNK
#define CHUNK 16
#define KEY_COUNT INPUT1_SIZE_2
#endif

#include "extras.h"

// Element i of the key or the value at `in_key`.
#if IN_BYTE_ROWS
#define KEY_AT(i) ELEMENT_OF_ROW(key_row, INPUT1_SIZE_LAST, i)
#define VALUE_AT(i) ELEMENT_OF_ROW(value_row, INPUT2_SIZE_LAST, i)
#else
#define KEY_AT(i) INPUT1_LOAD(key, INPUT1_INDEX_OF(in_key))
#define VALUE_AT(i) INPUT2_LOAD(value, INPUT2_INDEX_OF(in_key))
#endif

KERNEL(sdpa_ref)(const global INPUT0_TYPE* restrict query, const global INPUT1_TYPE* restrict key,
                 const global INPUT2_TYPE* restrict value, EXTRAS global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t chunks = CEIL_DIV(OUTPUT0_SIZE_LAST, CHUNK);
    const index_t first = (index_t)get_global_id(0) % chunks * CHUNK;
    const index_t row = (index_t)get_global_id(0) / chunks;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    const int count = min((index_t)CHUNK, OUTPUT0_SIZE_LAST - first);
    index_t at[MAX_RANK], in_query[MAX_RANK], in_key[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    for (int a = 0; a < OUTPUT0_RANK; ++a) in_query[a] = in_key[a] = at[a];
#if GROUPS > 1
    in_key[OUTPUT0_RANK - 3] /= GROUPS;
#endif
    const index_t position = at[OUTPUT0_RANK - 2];
    const float scale = SCALE_OF_SCORES;
    float highest = -INFINITY, sum = 0, total[CHUNK];
    for (int i = 0; i < CHUNK; ++i) total[i] = 0;
#if WITH_SINK
    at[OUTPUT0_RANK - 1] = 0;
    highest = INPUT5_LOAD(sink, INPUT5_INDEX_OF(at));
    sum = 1;
#endif
    const index_t keys = IS_CAUSAL ? min(KEY_COUNT, position + 1) : KEY_COUNT;
    for (index_t s = 0; s < keys; ++s) {
        in_key[OUTPUT0_RANK - 2] = s;
#if BY_TABLE
        in_key[0] = ENTRY_OF_KEY(at[0], s);
#endif
#if IN_BYTE_ROWS
        in_key[OUTPUT0_RANK - 1] = 0;
        const global uchar* key_row = key + INPUT1_INDEX_OF(in_key);
        const global uchar* value_row = value + INPUT2_INDEX_OF(in_key);
#endif
        float score = 0;
        for (index_t e = 0; e < INPUT0_SIZE_LAST; ++e) {
            in_query[OUTPUT0_RANK - 1] = in_key[OUTPUT0_RANK - 1] = e;
            score += INPUT0_LOAD(query, INPUT0_INDEX_OF(in_query)) * KEY_AT(e);
        }
        score *= scale;
#if WITH_MASK
        at[OUTPUT0_RANK - 1] = s;
#if MASK_IS_BOOLEAN
        if (!INPUT3_LOAD(mask, INPUT3_INDEX_OF(at))) score = -INFINITY;
#else
        score += INPUT3_LOAD(mask, INPUT3_INDEX_OF(at));
#endif
#endif
        if (score == -INFINITY) continue;
        const float top = fmax(highest, score);
        const float rescale = exp(highest - top), weight = exp(score - top);
        highest = top;
        sum = sum * rescale + weight;
        for (int i = 0; i < count; ++i) {
            in_key[OUTPUT0_RANK - 1] = first + i;
            total[i] = total[i] * rescale + weight * VALUE_AT(first + i);
        }
    }
    for (int i = 0; i < count; ++i) {
        at[OUTPUT0_RANK - 1] = first + i;
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum > 0 ? total[i] / sum : 0);
    }
}
