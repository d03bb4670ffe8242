// x / LENGTH(sum of squares) along axis 2 of views [a, b, length, inner] with a contiguous last axis.
// One work-item normalises VEC neighbouring columns (1 or 16; inner is a multiple of VEC).
// Dimension 0: vectors along inner, 1: a times b.
#include "clinfer.cl"

#ifndef VEC
#define VEC 16
#define LENGTH(v) sqrt((v) + 1e-9f)
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

KERNEL(normalize_l2_columns)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int inner = (int)get_global_id(0) * VEC;
    if (inner >= INPUT0_SIZE_3) return;
    const int at0 = (int)get_global_id(1) / INPUT0_SIZE_1;
    const int at1 = (int)get_global_id(1) % INPUT0_SIZE_1;
    const int from = INPUT0_GET_INDEX(at0, at1, 0, inner);
    const int to = OUTPUT0_GET_INDEX(at0, at1, 0, inner);
    VECTOR sum = 0;
    for (int i = 0; i < INPUT0_SIZE_2; ++i) {
        const VECTOR x = LOAD_VECTOR(input, from + i * INPUT0_PITCH_2);
        sum += x * x;
    }
    const VECTOR length = LENGTH(sum);
    for (int i = 0; i < INPUT0_SIZE_2; ++i)
        STORE_VECTOR(output, to + i * OUTPUT0_PITCH_2, LOAD_VECTOR(input, from + i * INPUT0_PITCH_2) / length);
}
