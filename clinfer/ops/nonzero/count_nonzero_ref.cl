// Counts the elements that are not zero (NaN is not) in every run of CHUNK elements in row-major order;
// any layout, rank and type. One work-item counts one run; OUTPUT1 takes the counts.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef CHUNK
#define CHUNK 64
#define ADVANCE(c) (c)[3]++
#endif

KERNEL(count_nonzero_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT1_TYPE* restrict counts ARGS) {
    const int chunk = get_global_id(0);
    if (chunk >= OUTPUT1_SIZE_0) return;
    const int size = min(CHUNK, INPUT0_COUNT - chunk * CHUNK);
    int count = 0;
    if (size > 0) {
        int at[MAX_RANK];
        INPUT0_UNRAVEL(chunk * CHUNK, at);
        for (int i = 0; i < size; ++i) {
            count += INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) != 0;
            ADVANCE(at);
        }
    }
    OUTPUT1_STORE(counts, OUTPUT1_OFFSET + chunk * OUTPUT1_PITCH_0, count);
}
