// x / LENGTH(sum of squares) along the contiguous last axis of views [a, b, c, length].
// A work-group of LANES work-items normalises one row; each lane loads vectors of VEC.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#define LENGTH(v) sqrt((v) + 1e-9f)
#endif

#if VEC == 16
#define VECTOR INPUT0_COMPUTE16
#define LOAD_VECTOR INPUT0_LOAD16
#define STORE_VECTOR OUTPUT0_STORE16
#else
#define VECTOR INPUT0_COMPUTE4
#define LOAD_VECTOR INPUT0_LOAD4
#define STORE_VECTOR OUTPUT0_STORE4
#endif

INPUT0_COMPUTE FUNC(add_lanes)(VECTOR v) {
#if VEC == 16
    const INPUT0_COMPUTE8 v8 = v.lo + v.hi;
    const INPUT0_COMPUTE4 v4 = v8.lo + v8.hi;
#else
    const INPUT0_COMPUTE4 v4 = v;
#endif
    return (v4.x + v4.y) + (v4.z + v4.w);
}

#if LANES > 1
#define ADD_GROUP(value) GROUP_ADD(value, shared, lane, LANES)
#else
#define ADD_GROUP(value)
#endif

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(normalize_l2_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int at2 = (int)get_group_id(0) % INPUT0_SIZE_2;
    const int rest = (int)get_group_id(0) / INPUT0_SIZE_2;
    const int at1 = rest % INPUT0_SIZE_1;
    const int at0 = rest / INPUT0_SIZE_1;
    const int lane = get_local_id(0);
    const int from = INPUT0_GET_INDEX(at0, at1, at2, 0);
    const int to = OUTPUT0_GET_INDEX(at0, at1, at2, 0);
    const int vectors_end = INPUT0_SIZE_3 / VEC * VEC;
#if LANES > 1
    local INPUT0_COMPUTE shared[LANES];
#endif

    VECTOR squares = 0;
    for (int i = lane * VEC; i < vectors_end; i += LANES * VEC) {
        const VECTOR x = LOAD_VECTOR(input, from + i);
        squares += x * x;
    }
    INPUT0_COMPUTE sum = FUNC(add_lanes)(squares);
    for (int i = vectors_end + lane; i < INPUT0_SIZE_3; i += LANES) {
        const INPUT0_COMPUTE x = INPUT0_LOAD(input, from + i);
        sum += x * x;
    }
    ADD_GROUP(sum);
    const INPUT0_COMPUTE length = LENGTH(sum);

    for (int i = lane * VEC; i < vectors_end; i += LANES * VEC)
        STORE_VECTOR(output, to + i, LOAD_VECTOR(input, from + i) / length);
    for (int i = vectors_end + lane; i < INPUT0_SIZE_3; i += LANES)
        OUTPUT0_STORE(output, to + i, INPUT0_LOAD(input, from + i) / length);
}
