// Combines the contiguous last axis of views [a, b, c, length].
// A work-group of LANES work-items computes one result; each lane loads vectors of VEC.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#define COMBINE(a, b) ((a) + (b))
#define VALUE(x) (x)
#define FINISH(x) (x)
#define INITIAL 0
#define ARG_N INPUT0_SIZE_LAST
#endif

#if VEC == 16
#define VECTOR INPUT0_COMPUTE16
#define LOAD_VECTOR INPUT0_LOAD16
#else
#define VECTOR INPUT0_COMPUTE4
#define LOAD_VECTOR INPUT0_LOAD4
#endif

INPUT0_COMPUTE FUNC(combine_lanes)(VECTOR v) {
#if VEC == 16
    const INPUT0_COMPUTE8 v8 = COMBINE(v.lo, v.hi);
    const INPUT0_COMPUTE4 v4 = COMBINE(v8.lo, v8.hi);
#else
    const INPUT0_COMPUTE4 v4 = v;
#endif
    const INPUT0_COMPUTE low = COMBINE(v4.x, v4.y), high = COMBINE(v4.z, v4.w);
    return COMBINE(low, high);
}

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(reduce_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int at2 = (int)get_group_id(0) % INPUT0_SIZE_2;
    const int rest = (int)get_group_id(0) / INPUT0_SIZE_2;
    const int at1 = rest % INPUT0_SIZE_1;
    const int at0 = rest / INPUT0_SIZE_1;
    const int lane = get_local_id(0);
    const int row = INPUT0_GET_INDEX(at0, at1, at2, 0);
    INPUT0_COMPUTE total = INITIAL;
    if (INPUT0_SIZE_3 >= VEC) {
        VECTOR totals = INITIAL;
        for (int i = lane * VEC; i + VEC <= INPUT0_SIZE_3; i += LANES * VEC) {
            const VECTOR x = LOAD_VECTOR(input, row + i);
            totals = COMBINE(totals, VALUE(x));
        }
        total = FUNC(combine_lanes)(totals);
    }
    for (int i = INPUT0_SIZE_3 / VEC * VEC + lane; i < INPUT0_SIZE_3; i += LANES) {
        const INPUT0_COMPUTE x = INPUT0_LOAD(input, row + i);
        total = COMBINE(total, VALUE(x));
    }
#if LANES > 1
    local INPUT0_COMPUTE shared[LANES];
    GROUP_COMBINE(COMBINE, total, shared, lane, LANES);
    if (lane > 0) return;
#endif
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(at0, at1, at2, 0), FINISH(total));
}
