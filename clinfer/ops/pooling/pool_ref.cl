// Maximum (IS_MAX), with WITH_INDEX also its position, or mean of windows; any layout and type.
// The views are [b, f, spatial...]; KERNELS, STRIDES and so on list a value per spatial axis. One work-item
// computes one result; the last work-group is not full. Positions count elements from axis INDEX_AXIS on.
#include "clinfer.cl"

#ifndef IS_MAX
#define IS_MAX 1
#define WITH_INDEX 0
#define INDEX_AXIS 0
#define EXCLUDE_PAD 1
#define LOWEST -INFINITY
#define MEAN(sum, count) ((sum) / (count))
#define SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#define KERNELS {2, 2}
#define STRIDES {1, 1}
#define DILATIONS {1, 1}
#define BEGINS {0, 0}
#define ENDS {0, 0}
#endif

#define SPATIAL (INPUT0_RANK - 2)

KERNEL(pool_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output
#if WITH_INDEX
                 , global OUTPUT1_TYPE* restrict positions
#endif
                 ARGS) {
    const index_t sizes[] = SIZES, kernels[] = KERNELS, strides[] = STRIDES, dilations[] = DILATIONS;
    const index_t begins[] = BEGINS, ends[] = ENDS;
    const index_t element = get_global_id(0);
    if (element >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK], from[MAX_RANK], best_at[MAX_RANK], step[MAX_RANK];
    OUTPUT0_UNRAVEL(element, at);
    const index_t target = OUTPUT0_INDEX_OF(at);
    index_t window = 1;
    from[0] = best_at[0] = at[0];
    from[1] = best_at[1] = at[1];
    for (int a = 0; a < SPATIAL; ++a) {
        step[a] = 0;
        best_at[2 + a] = 0;
        window *= kernels[a];
    }
    INPUT0_COMPUTE best = IS_MAX ? (INPUT0_COMPUTE)LOWEST : (INPUT0_COMPUTE)0;
    index_t inside = 0, padded = 0;
    for (index_t n = 0; n < window; ++n) {
        int is_inside = 1, is_padded = 1;
        for (int a = 0; a < SPATIAL; ++a) {
            const index_t c = at[2 + a] * strides[a] - begins[a] + step[a] * dilations[a];
            from[2 + a] = c;
            is_inside &= c >= 0 && c < sizes[2 + a];
            is_padded &= c < sizes[2 + a] + ends[a];
        }
        padded += is_padded;
        if (is_inside) {
            const INPUT0_COMPUTE v = INPUT0_LOAD(input, INPUT0_INDEX_OF(from));
#if IS_MAX
            if (inside == 0 || v > best || v != v) {
                best = v;
                for (int a = 0; a < SPATIAL; ++a) best_at[2 + a] = from[2 + a];
            }
#else
            best += v;
#endif
            ++inside;
        }
        for (int a = SPATIAL - 1; a >= 0; --a) {
            if (++step[a] < kernels[a]) break;
            step[a] = 0;
        }
    }
#if IS_MAX
    INPUT0_COMPUTE result = best;
#else
    const index_t count = EXCLUDE_PAD ? inside : padded;
    INPUT0_COMPUTE result = count == 0 ? 0 : MEAN(best, count);
#endif
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, target, result);
#if WITH_INDEX
    index_t position = 0;
    for (int a = INDEX_AXIS; a < INPUT0_RANK; ++a) position = position * sizes[a] + best_at[a];
    OUTPUT1_STORE(positions, OUTPUT1_INDEX_OF(at), position);
#endif
}
