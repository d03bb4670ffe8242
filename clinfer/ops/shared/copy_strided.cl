// Copies runs whose elements lie apart in the input, in the output or in both: views of five axes with any pitches.
// One work-item copies SPAN elements along the last axis, of ROWS places of the axis before it. Dimension 0: spans of
// the last axis, 1: the other axes. Without fused operations the views hold raw storage units.
#include "clinfer.cl"

#ifndef SPAN
#define SPAN 256
#define ROWS 8
#define OUTPUT0_SIZE_4 1
#define INPUT0_PITCH_4 1
#define OUTPUT0_PITCH_4 1
#endif

#define RUN_START(T) T##_GET_INDEX(at0, at1, at2, at3, first)

KERNEL(copy_strided)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t first = (index_t)get_global_id(0) * SPAN;
    const index_t blocks = CEIL_DIV(OUTPUT0_SIZE_3, ROWS);
    index_t rest = get_global_id(1);
    const index_t first3 = rest % blocks * ROWS, end3 = min(first3 + ROWS, OUTPUT0_SIZE_3);
    rest /= blocks;
    const index_t at2 = rest % OUTPUT0_SIZE_2;
    rest /= OUTPUT0_SIZE_2;
    const index_t at1 = rest % OUTPUT0_SIZE_1, at0 = rest / OUTPUT0_SIZE_1;
    const int count = min((index_t)SPAN, OUTPUT0_SIZE_4 - first);
    for (index_t at3 = first3; at3 < end3; ++at3) {
        const global INPUT0_TYPE* from = input + RUN_START(INPUT0);
        global OUTPUT0_TYPE* to = output + RUN_START(OUTPUT0);
#if HAS_EPILOGUE
        index_t at[MAX_RANK] = {at0, at1, at2, at3, first};
        for (int i = 0; i < count; ++i, ++at[4]) {
            INPUT0_COMPUTE result = INPUT0_LOAD(from, i * INPUT0_PITCH_4);
            FUSED_OPS(result, at)
            OUTPUT0_STORE(to, i * OUTPUT0_PITCH_4, result);
        }
#else
        #pragma unroll 8
        for (int i = 0; i < count; ++i) to[i * OUTPUT0_PITCH_4] = from[i * INPUT0_PITCH_4];
#endif
    }
}
