// Looks elements up: the place of each is held by INDEX_COUNT indices, ARG_TUPLE_PITCH apart; places
// outside of the data give zeros. Any unblocked layout and rank; one work-item writes one element.
// Views: data (with coordinate 0 along the axes looked up) and indices by the coordinates of the output;
// without fused operations, data and output hold raw storage units.
#include "clinfer.cl"

#ifndef INDEX_COUNT
#define INDEX_COUNT 1
#define WRAPS_NEGATIVE 1
#define AXIS_SIZE(n) 16
#define AXIS_PITCH(n) 1
#define ARG_TUPLE_PITCH 0
#endif

KERNEL(gather_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict indices,
                   global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t place = INPUT1_INDEX_OF(at);
    index_t from = INPUT0_INDEX_OF(at);
    bool inside = true;
    for (int n = 0; n < INDEX_COUNT; ++n) {
        long index = (long)INPUT1_LOAD(indices, place + n * ARG_TUPLE_PITCH);
        if (WRAPS_NEGATIVE && index < 0) index += AXIS_SIZE(n);
        inside = inside && index >= 0 && index < AXIS_SIZE(n);
        from += inside ? (index_t)index * AXIS_PITCH(n) : 0;
    }
#if HAS_EPILOGUE
    INPUT0_COMPUTE result = inside ? INPUT0_LOAD(input, from) : 0;
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
#else
    output[OUTPUT0_INDEX_OF(at)] = inside ? input[from] : (OUTPUT0_TYPE)0;
#endif
}
