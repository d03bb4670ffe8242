// x / POWER(BIAS + ALPHA / WINDOW^axes * sum), with the sum of the squares at most REACHES elements away along each
// axis; any layout, rank and float type. One work-item computes one element; the last work-group is not full.
// ARG_AXES is the number of axes along which a window lies.
#include "clinfer.cl"

#ifndef WINDOW
#define WINDOW 5
#define ALPHA 1e-4f
#define POWER(v, type) (sqrt(v) * sqrt(sqrt(v)))
#define BIAS 1.0f
#define SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#define REACHES {0, 2, 0, 0}
#define ARG_AXES 1
#endif

KERNEL(lrn_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t sizes[] = SIZES, reaches[] = REACHES;
    const index_t element = get_global_id(0);
    if (element >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK], first[MAX_RANK], last[MAX_RANK], from[MAX_RANK];
    OUTPUT0_UNRAVEL(element, at);
    for (int a = 0; a < INPUT0_RANK; ++a) {
        from[a] = first[a] = max(at[a] - reaches[a], (index_t)0);
        last[a] = min(at[a] + reaches[a], sizes[a] - 1);
    }
    INPUT0_COMPUTE sum = 0;
    int axis;
    do {
        const INPUT0_COMPUTE x = INPUT0_LOAD(input, INPUT0_INDEX_OF(from));
        sum += x * x;
        for (axis = INPUT0_RANK - 1; axis >= 0; --axis) {
            if (++from[axis] <= last[axis]) break;
            from[axis] = first[axis];
        }
    } while (axis >= 0);
    INPUT0_COMPUTE alpha = ALPHA;
    for (int a = 0; a < ARG_AXES; ++a) alpha /= WINDOW;
    const INPUT0_COMPUTE norm = POWER((INPUT0_COMPUTE)BIAS + alpha * sum, INPUT0_COMPUTE);
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) / norm);
}
