// Maximum (IS_MAX), with WITH_INDEX also its position in the flattened spatial axes, or mean of windows that divide
// the data; any layout and type. The views are [b, f, spatial...]. One work-item computes one result; the last
// work-group is not full.
#include "clinfer.cl"

#ifndef IS_MAX
#define IS_MAX 1
#define WITH_INDEX 0
#define LOWEST -INFINITY
#define INPUT_SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#define OUTPUT_SIZES {OUTPUT0_SIZE_0, OUTPUT0_SIZE_1, OUTPUT0_SIZE_2, OUTPUT0_SIZE_3}
#endif

KERNEL(adaptive_pool_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output
#if WITH_INDEX
                          , global OUTPUT1_TYPE* restrict positions
#endif
                          ARGS) {
    const index_t sizes[] = INPUT_SIZES, windows[] = OUTPUT_SIZES;
    const index_t element = get_global_id(0);
    if (element >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK], first[MAX_RANK], end[MAX_RANK], from[MAX_RANK];
    OUTPUT0_UNRAVEL(element, at);
    from[0] = at[0];
    from[1] = at[1];
    index_t count = 1;
    for (int a = 2; a < INPUT0_RANK; ++a) {
        first[a] = from[a] = (index_t)((long)at[a] * sizes[a] / windows[a]);
        end[a] = (index_t)(((long)(at[a] + 1) * sizes[a] + windows[a] - 1) / windows[a]);
        count *= end[a] - first[a];
    }
    INPUT0_COMPUTE result = IS_MAX ? (INPUT0_COMPUTE)LOWEST : (INPUT0_COMPUTE)0;
    index_t best = 0;
    for (index_t n = 0; n < count; ++n) {
        const INPUT0_COMPUTE v = INPUT0_LOAD(input, INPUT0_INDEX_OF(from));
#if IS_MAX
        if (n == 0 || v > result || v != v) {
            result = v;
            best = 0;
            for (int a = 2; a < INPUT0_RANK; ++a) best = best * sizes[a] + from[a];
        }
#else
        result += v;
#endif
        for (int a = INPUT0_RANK - 1; a >= 2; --a) {
            if (++from[a] < end[a]) break;
            from[a] = first[a];
        }
    }
#if !IS_MAX
    result /= count;
#endif
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
#if WITH_INDEX
    OUTPUT1_STORE(positions, OUTPUT1_INDEX_OF(at), best);
#endif
}
