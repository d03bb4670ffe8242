// Sums up, or averages (IS_MEAN), the rows of INPUT0 that the indices of a bag (INPUT1) name, times FACTORS; any rank
// and type. BAGS: 0 of each bag as many indices stand one behind the other, 1 OFFSETS says where each bag starts,
// 2 OFFSETS says of each index its bag, in ascending order. DEFAULT is the row of an empty bag. One work-item computes
// one element.
#include "clinfer.cl"

#ifndef BAGS
#define BAGS 0
#define IS_MEAN 0
#define HAS_DEFAULT 0
#define HAS_FACTORS 0
#endif

#if BAGS == 0
#define PLACE(T, i) T##_GET_INDEX(bag, i)
#else
#define PLACE(T, i) (T##_OFFSET + (i) * T##_PITCH_0)
#endif

KERNEL(embedding_bag_ref)(const global INPUT0_TYPE* restrict table, const global INPUT1_TYPE* restrict indices,
#if BAGS
                          const global OFFSETS_TYPE* restrict offsets,
#endif
#if HAS_DEFAULT
                          const global DEFAULT_TYPE* restrict defaults,
#endif
#if HAS_FACTORS
                          const global FACTORS_TYPE* restrict factors,
#endif
                          global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at), bag = at[0], count = INPUT1_SIZE_LAST;
#if BAGS == 0
    const index_t start = 0, end = count;
#elif BAGS == 1
    const index_t start = clamp((index_t)OFFSETS_LOAD(offsets, PLACE(OFFSETS, bag)), (index_t)0, count);
    const bool is_last = bag + 1 == OUTPUT0_SIZE_0;
    const index_t end = is_last ? count : min((index_t)OFFSETS_LOAD(offsets, PLACE(OFFSETS, bag + 1)), count);
#else
    index_t bounds[2];
    for (int i = 0; i < 2; ++i) {
        index_t low = 0, high = count;
        while (low < high) {
            const index_t middle = low + (high - low) / 2;
            if ((index_t)OFFSETS_LOAD(offsets, PLACE(OFFSETS, middle)) < bag + i) low = middle + 1;
            else high = middle;
        }
        bounds[i] = low;
    }
    const index_t start = bounds[0], end = bounds[1];
#endif
    OUTPUT0_COMPUTE sum = 0;
    for (index_t i = start; i < end; ++i) {
        const index_t row = (index_t)INPUT1_LOAD(indices, PLACE(INPUT1, i));
        if (row < 0 || row >= INPUT0_SIZE_0) continue;
        at[0] = row;
        const OUTPUT0_COMPUTE value = INPUT0_LOAD(table, INPUT0_INDEX_OF(at));
#if HAS_FACTORS
        sum += value * (OUTPUT0_COMPUTE)FACTORS_LOAD(factors, PLACE(FACTORS, i));
#else
        sum += value;
#endif
    }
#if IS_MEAN
    if (start < end) sum /= (OUTPUT0_COMPUTE)(end - start);
#endif
#if HAS_DEFAULT
    at[0] = (index_t)DEFAULT_LOAD(defaults, DEFAULT_OFFSET);
    if (start >= end && at[0] >= 0 && at[0] < INPUT0_SIZE_0) sum = INPUT0_LOAD(table, INPUT0_INDEX_OF(at));
#endif
    OUTPUT0_STORE(output, to, sum);
}
