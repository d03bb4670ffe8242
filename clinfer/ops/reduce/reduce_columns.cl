// Combines axis 2 of views [a, b, length, inner] whose last axis is contiguous and stays.
// One work-item computes VEC neighbouring results (1 or 16; inner is a multiple of VEC).
// Dimension 0: vectors along inner, 1: a times b.
#include "clinfer.cl"

#ifndef VEC
#define VEC 16
#define COMBINE(a, b) ((a) + (b))
#define VALUE(x) (x)
#define FINISH(x) (x)
#define INITIAL 0
#define ARG_N INPUT0_SIZE_2
#endif

#if VEC == 16
#define VECTOR INPUT0_COMPUTE16
#define LOAD_VECTOR INPUT0_LOAD16
#define STORE_VECTOR OUTPUT0_STORE16
#else
#define VECTOR INPUT0_COMPUTE
#define LOAD_VECTOR INPUT0_LOAD
#define STORE_VECTOR OUTPUT0_STORE
#endif

KERNEL(reduce_columns)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int inner = (int)get_global_id(0) * VEC;
    if (inner >= INPUT0_SIZE_3) return;
    const int at0 = (int)get_global_id(1) / INPUT0_SIZE_1;
    const int at1 = (int)get_global_id(1) % INPUT0_SIZE_1;
    int index = INPUT0_GET_INDEX(at0, at1, 0, inner);
    VECTOR total = INITIAL;
    for (int i = 0; i < INPUT0_SIZE_2; ++i) {
        const VECTOR x = LOAD_VECTOR(input, index);
        total = COMBINE(total, VALUE(x));
        index += INPUT0_PITCH_2;
    }
    STORE_VECTOR(output, OUTPUT0_GET_INDEX(at0, at1, 0, inner), FINISH(total));
}
