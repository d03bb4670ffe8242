// Multiplies by INPUT1, takes INPUT2 off (HAS_SHIFT), rounds to f16 and, up to LARGEST, to a float of 8 bits by
// TO_FLOAT8 and OF_FLOAT8, and undoes the rest; all stretched to the output. Any layout, rank but 0 and float type. One
// work-item writes up to SPAN elements along the last axis; work-groups of LOCAL work-items, the last of which is not
// full.
#include "clinfer.cl"

#ifndef HAS_SHIFT
#define HAS_SHIFT 0
#define LARGEST 448.0f
#define TO_FLOAT8 clinfer_to_f8e4m3
#define OF_FLOAT8 clinfer_of_f8e4m3
#define SPAN 64
#define LOCAL 1
#endif

float FUNC(rounded)(float value) {
    ushort bits;
    vstore_half_rte(value, 0, (half*)&bits);
    const float narrow = vload_half(0, (const half*)&bits);
    return isnan(narrow) ? narrow : OF_FLOAT8(TO_FLOAT8(clamp(narrow, -LARGEST, LARGEST)));
}

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(fake_convert_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict scales,
#if HAS_SHIFT
                         const global INPUT2_TYPE* restrict shifts,
#endif
                         global OUTPUT0_TYPE* restrict output ARGS) {
    // A product that is not rounded before the difference may round to another float of 8 bits.
    #pragma OPENCL FP_CONTRACT OFF
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_LAST, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN, row = (index_t)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    const index_t end = min(first + SPAN, OUTPUT0_SIZE_LAST);
    for (index_t i = first; i < end; ++i) {
        at[OUTPUT0_RANK - 1] = i;
        const float scale = (float)INPUT1_LOAD(scales, INPUT1_INDEX_OF(at));
#if HAS_SHIFT
        const float shift = (float)INPUT2_LOAD(shifts, INPUT2_INDEX_OF(at));
#else
        const float shift = 0;
#endif
        const float value = (float)INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) * scale - shift;
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), (OUTPUT0_COMPUTE)((FUNC(rounded)(value) + shift) / scale));
    }
}
