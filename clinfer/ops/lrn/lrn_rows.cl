// x / POWER(BIAS + ALPHA * sum), with the sum of the squares at most REACH elements away along axis 1 of views
// [outer, axis, inner] with a contiguous inner axis. ALPHA is divided by the size of the window already.
// One work-item computes up to RUN neighbours, 16 at a time. Dimension 0: inner by RUN, 1: outer times axis.
#include "clinfer.cl"

#ifndef RUN
#define RUN 64
#define REACH 2
#define ALPHA 2e-5f
#define POWER(v, type) (sqrt(v) * sqrt(sqrt(v)))
#define BIAS 1.0f
#undef INPUT0_GET_INDEX
#undef OUTPUT0_GET_INDEX
#define INPUT0_GET_INDEX(c0, c1, c2) ((c0) * INPUT0_PITCH_0 + (c1) * INPUT0_PITCH_1 + (c2))
#define OUTPUT0_GET_INDEX(c0, c1, c2) ((c0) * OUTPUT0_PITCH_0 + (c1) * OUTPUT0_PITCH_1 + (c2))
#endif

#define NORM(sum, type) POWER((INPUT0_COMPUTE)BIAS + (INPUT0_COMPUTE)ALPHA * (sum), type)

KERNEL(lrn_rows)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t outer = (index_t)get_global_id(1) / INPUT0_SIZE_1, own = (index_t)get_global_id(1) % INPUT0_SIZE_1;
    const index_t first = max(own - REACH, (index_t)0), last = min(own + REACH, INPUT0_SIZE_1 - 1);
    const index_t top = INPUT0_GET_INDEX(outer, first, 0), from = INPUT0_GET_INDEX(outer, own, 0);
    const index_t to = OUTPUT0_GET_INDEX(outer, own, 0);
    index_t i = (index_t)get_global_id(0) * RUN;
    const index_t end = min(i + RUN, INPUT0_SIZE_2);
    for (; i + 16 <= end; i += 16) {
        INPUT0_COMPUTE16 sum = 0;
        for (index_t c = 0; c <= last - first; ++c) {
            const INPUT0_COMPUTE16 x = INPUT0_LOAD16(input, top + c * INPUT0_PITCH_1 + i);
            sum += x * x;
        }
        OUTPUT0_STORE16(output, to + i, INPUT0_LOAD16(input, from + i) / NORM(sum, INPUT0_COMPUTE16));
    }
    for (; i < end; ++i) {
        INPUT0_COMPUTE sum = 0;
        for (index_t c = 0; c <= last - first; ++c) {
            const INPUT0_COMPUTE x = INPUT0_LOAD(input, top + c * INPUT0_PITCH_1 + i);
            sum += x * x;
        }
        OUTPUT0_STORE(output, to + i, INPUT0_LOAD(input, from + i) / NORM(sum, INPUT0_COMPUTE));
    }
}
