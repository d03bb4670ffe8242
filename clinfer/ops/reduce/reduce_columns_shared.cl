// Combines axis 2 of views [a, b, length, inner] whose last axis is contiguous and stays, by work-groups that share
// columns: for results that are too few to keep a device at work.
// A group of WIDTH * DEPTH work-items takes WIDTH neighbouring vectors of VEC columns (1 or 4; inner is a multiple of
// VEC) and a slice of ARG_ROWS of their elements, of which each of DEPTH work-items combines every DEPTH-th. Their
// results are combined through local memory and become element `slice` along axis 2 of OUTPUT0, which is the only one
// where a slice is all. RUN elements are combined by themselves, then with those before.
// Dimension 0: groups along inner (the last is not full), 1: a times b, 2: slices.
#include "clinfer.cl"

#ifndef VEC
#define VEC 4
#define WIDTH 8
#define DEPTH 32
#define COMBINE(a, b) ((a) + (b))
#define VALUE(x) (x)
#define FINISH(x) (x)
#define INITIAL 0
#define RUN 1024
#define ARG_N INPUT0_SIZE_2
#define ARG_ROWS INPUT0_SIZE_2
#endif

#include "shared/vectors.h"

#define ABREAST 4
#define COLUMN_INDEX(T) T##_GET_INDEX(at0, at1, 0, column)

__attribute__((reqd_work_group_size(WIDTH * DEPTH, 1, 1)))
KERNEL(reduce_columns_shared)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    local VECTOR shared[WIDTH * DEPTH];
    const int lane = get_local_id(0);
    const index_t column = ((index_t)get_group_id(0) * WIDTH + lane % WIDTH) * VEC;
    const index_t at0 = (index_t)get_global_id(1) / INPUT0_SIZE_1, at1 = (index_t)get_global_id(1) % INPUT0_SIZE_1;
    const index_t slice = get_global_id(2);
    VECTOR total = INITIAL;
    if (column < INPUT0_SIZE_3) {
        const index_t start = COLUMN_INDEX(INPUT0), first = slice * ARG_ROWS;
        const index_t stop = min(first + ARG_ROWS, (index_t)INPUT0_SIZE_2);
        for (index_t begin = first; begin < stop; begin += RUN * DEPTH) {
            const index_t end = min(begin + RUN * DEPTH, stop);
            VECTOR part = INITIAL;
            index_t i = begin + lane / WIDTH;
            for (; i + (ABREAST - 1) * DEPTH < end; i += ABREAST * DEPTH) {
                VECTOR x[ABREAST];
                #pragma unroll
                for (int n = 0; n < ABREAST; ++n) x[n] = LOAD_VECTOR(input, start + (i + n * DEPTH) * INPUT0_PITCH_2);
                #pragma unroll
                for (int n = 0; n < ABREAST; ++n) part = COMBINE(part, VALUE(x[n]));
            }
            for (; i < end; i += DEPTH) {
                const VECTOR x = LOAD_VECTOR(input, start + i * INPUT0_PITCH_2);
                part = COMBINE(part, VALUE(x));
            }
            total = COMBINE(total, part);
        }
    }
    shared[lane] = total;
    for (int step = WIDTH * DEPTH / 2; step >= WIDTH; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step) {
            const VECTOR one = shared[lane], other = shared[lane + step];
            shared[lane] = COMBINE(one, other);
        }
    }
    if (lane >= WIDTH || column >= INPUT0_SIZE_3) return;
    total = shared[lane];
    VECTOR result = FINISH(total);
#if HAS_EPILOGUE
    FUSED_ROW_START(COLUMN_INDEX)
    FUSED_VECTOR(result, 0)
#endif
    STORE_VECTOR(output, OUTPUT0_GET_INDEX(at0, at1, slice, column), result);
}
