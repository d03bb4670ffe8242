// Copies a tensor of a 4-bit type into another format; elements that fill the last block of an axis are zero.
// One work-item writes BYTES consecutive bytes of the output: two elements each, the low half first. LOCATE
// (nibbles.py) finds the coordinates of an element from its place in memory.
#include "clinfer.cl"

#ifndef BYTES
#define BYTES 16
#define ARG_COUNT OUTPUT0_COUNT
#define LOCATE(i, c) OUTPUT0_UNRAVEL(i, c)
#define IS_INSIDE(c) 1
#endif

KERNEL(reorder_nibbles)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t first = (index_t)get_global_id(0) * BYTES, last = min(first + BYTES, CEIL_DIV((index_t)ARG_COUNT, 2));
    for (index_t byte = first; byte < last; ++byte) {
        uint halves = 0;
        for (int part = 0; part < 2; ++part) {
            index_t at[MAX_RANK];
            const index_t place = 2 * byte + part;
            LOCATE(place, at);
            if (place < ARG_COUNT && IS_INSIDE(at))
                halves |= ((uint)INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) & 15u) << (4 * part);
        }
        output[byte] = (uchar)halves;
    }
}
