// Softmax or log-softmax (IS_LOG) along the contiguous last axis of views [a, b, c, length].
// A work-group of LANES work-items computes one row; each lane loads vectors of VEC. Three passes: the
// maximum, the sum of exponentials (kept in the output if it is f32), the result.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define VEC 16
#define IS_LOG 0
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

#define ADD(a, b) ((a) + (b))

// The elements of a vector combined: OP is fmax or ADD.
#if VEC == 16
#define COMBINE_LANES(OP, v, into) do { \
        const INPUT0_COMPUTE8 v8 = OP((v).lo, (v).hi); \
        const INPUT0_COMPUTE4 v4 = OP(v8.lo, v8.hi); \
        into = OP(OP(v4.x, v4.y), OP(v4.z, v4.w)); \
    } while (0)
#else
#define COMBINE_LANES(OP, v, into) (into = OP(OP((v).x, (v).y), OP((v).z, (v).w)))
#endif

#if LANES > 1
#define HIGHEST_OF_GROUP(value) GROUP_MAX(value, shared, lane, LANES)
#define SUM_OF_GROUP(value) GROUP_ADD(value, shared, lane, LANES)
#else
#define HIGHEST_OF_GROUP(value)
#define SUM_OF_GROUP(value)
#endif

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(softmax_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
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

    INPUT0_COMPUTE highest = -INFINITY;
    if (lane * VEC < vectors_end) {
        VECTOR v = -INFINITY;
        for (int i = lane * VEC; i < vectors_end; i += LANES * VEC) v = fmax(v, LOAD_VECTOR(input, from + i));
        COMBINE_LANES(fmax, v, highest);
    }
    for (int i = vectors_end + lane; i < INPUT0_SIZE_3; i += LANES)
        highest = fmax(highest, INPUT0_LOAD(input, from + i));
    HIGHEST_OF_GROUP(highest);

    INPUT0_COMPUTE sum = 0;
    if (lane * VEC < vectors_end) {
        VECTOR v = 0;
        for (int i = lane * VEC; i < vectors_end; i += LANES * VEC) {
            const VECTOR e = exp(LOAD_VECTOR(input, from + i) - highest);
            v += e;
#if defined(OUTPUT0_IS_F32) && !IS_LOG
            STORE_VECTOR(output, to + i, e);
#endif
        }
        COMBINE_LANES(ADD, v, sum);
    }
    for (int i = vectors_end + lane; i < INPUT0_SIZE_3; i += LANES)
        sum += exp(INPUT0_LOAD(input, from + i) - highest);
    SUM_OF_GROUP(sum);

#if IS_LOG
    const INPUT0_COMPUTE shift = highest + log(sum);
#define RESULT(x) ((x) - shift)
#define RESULT_VECTOR(i) (LOAD_VECTOR(input, from + (i)) - shift)
#elif defined(OUTPUT0_IS_F32)
    const INPUT0_COMPUTE scale = 1 / sum;
#define RESULT(x) (exp((x) - highest) * scale)
#define RESULT_VECTOR(i) (OUTPUT0_LOAD_VECTOR(output, to + (i)) * scale)
#else
    const INPUT0_COMPUTE scale = 1 / sum;
#define RESULT(x) (exp((x) - highest) * scale)
#define RESULT_VECTOR(i) (exp(LOAD_VECTOR(input, from + (i)) - highest) * scale)
#endif
#if VEC == 16
#define OUTPUT0_LOAD_VECTOR OUTPUT0_LOAD16
#else
#define OUTPUT0_LOAD_VECTOR OUTPUT0_LOAD4
#endif
    for (int i = lane * VEC; i < vectors_end; i += LANES * VEC) STORE_VECTOR(output, to + i, RESULT_VECTOR(i));
    for (int i = vectors_end + lane; i < INPUT0_SIZE_3; i += LANES)
        OUTPUT0_STORE(output, to + i, RESULT(INPUT0_LOAD(input, from + i)));
}
