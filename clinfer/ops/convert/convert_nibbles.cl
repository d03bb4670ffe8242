// Converts to a type of 4 bits by way of THROUGH, of which the low 4 bits are kept; any input.
// One work-item makes one byte: two elements that follow one another, low half first.
// Limits: a dense planar output.
#include "clinfer.cl"

#ifndef THROUGH
#define THROUGH int
#endif

KERNEL(convert_nibbles)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t byte = get_global_id(0);
    if (2 * byte >= INPUT0_COUNT) return;
    uint halves = 0;
    for (int part = 0; part < min((index_t)2, INPUT0_COUNT - 2 * byte); ++part) {
        index_t at[MAX_RANK];
        INPUT0_UNRAVEL(2 * byte + part, at);
        const INPUT0_COMPUTE value = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
        halves |= ((uint)(THROUGH)value & 15u) << (4 * part);
    }
    output[byte] = (uchar)halves;
}
