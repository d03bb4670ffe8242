// Rows: the contiguous last axis of views. A work-group of LANES work-items takes one; each loads vectors of VEC
// (4 or 16), and what fills no vector singly.
//   ROW_INDEX(T)            where the group's row starts in T, for views [a, b, c, length]
//   FOR_VECTORS, FOR_REST   loops over the place i in the row of the lane's vectors and of its single elements
//   COMBINE_VECTOR(OP, v, into)   sets `into` to the elements of a vector combined by OP(a, b)
//   GROUP_SHARED            declares what the lanes combine their values through, at the start of the kernel
//   ADD_GROUP(value), MAX_GROUP(value)   the sum and the maximum over the group, for every lane
//   ROW_SUM(sum, TERM)      declares `sum`: TERM, an expression of x, summed over the elements x of the row of
//                           `input` that starts at `from`, for every lane
#include "shared/vectors.h"

#define ROW ((index_t)get_group_id(0))
#define LANE ((int)get_local_id(0))
#define VECTORS_END (INPUT0_SIZE_LAST / VEC * VEC)

#define ROW_INDEX(T) \
    T##_GET_INDEX(ROW / INPUT0_SIZE_2 / INPUT0_SIZE_1, ROW / INPUT0_SIZE_2 % INPUT0_SIZE_1, ROW % INPUT0_SIZE_2, 0)
#define FOR_VECTORS for (index_t i = LANE * VEC; i < VECTORS_END; i += LANES * VEC)
#define FOR_REST for (index_t i = VECTORS_END + LANE; i < INPUT0_SIZE_LAST; i += LANES)

#define ADD(a, b) ((a) + (b))
#define COMBINE_4(OP, v) OP(OP((v).x, (v).y), OP((v).z, (v).w))
#if VEC == 16
#define COMBINE_VECTOR(OP, v, into) do { \
        const INPUT0_COMPUTE8 v8_ = OP((v).lo, (v).hi); \
        const INPUT0_COMPUTE4 v4_ = OP(v8_.lo, v8_.hi); \
        into = COMBINE_4(OP, v4_); \
    } while (0)
#else
#define COMBINE_VECTOR(OP, v, into) (into = COMBINE_4(OP, v))
#endif

#if LANES > 1
#define GROUP_SHARED local INPUT0_COMPUTE shared[LANES];
#define ADD_GROUP(value) GROUP_ADD(value, shared, LANE, LANES)
#define MAX_GROUP(value) GROUP_MAX(value, shared, LANE, LANES)
#else
#define GROUP_SHARED
#define ADD_GROUP(value)
#define MAX_GROUP(value)
#endif

#define ROW_SUM(sum, TERM) \
    INPUT0_COMPUTE sum; \
    do { \
        VECTOR sums_ = 0; \
        FOR_VECTORS { const VECTOR x = LOAD_VECTOR(input, from + i); sums_ += TERM; } \
        COMBINE_VECTOR(ADD, sums_, sum); \
        FOR_REST { const INPUT0_COMPUTE x = INPUT0_LOAD(input, from + i); sum += TERM; } \
        ADD_GROUP(sum); \
    } while (0)
