// The largest elements along axis 0 in each segment, whose number (INPUT1, ascending) stands beside each slice; any
// rank and type. LOWEST is the lowest number of the type, FILL what empty segments give. One work-item computes one
// element.
#include "clinfer.cl"

#ifndef FILL
#define LOWEST (-FLT_MAX)
#define FILL 0
#endif

KERNEL(segment_max_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict segments,
                        global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at), segment = at[0];
    index_t low = 0, high = INPUT0_SIZE_0;
    while (low < high) {
        const index_t middle = low + (high - low) / 2;
        if ((index_t)INPUT1_LOAD(segments, INPUT1_OFFSET + middle * INPUT1_PITCH_0) < segment) low = middle + 1;
        else high = middle;
    }
    INPUT0_COMPUTE largest = LOWEST;
    for (at[0] = low; at[0] < INPUT0_SIZE_0; ++at[0]) {
        if ((index_t)INPUT1_LOAD(segments, INPUT1_OFFSET + at[0] * INPUT1_PITCH_0) != segment) break;
        const INPUT0_COMPUTE value = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
        largest = value > largest ? value : largest;
    }
    OUTPUT0_STORE(output, to, at[0] > low ? largest : (INPUT0_COMPUTE)FILL);
}
