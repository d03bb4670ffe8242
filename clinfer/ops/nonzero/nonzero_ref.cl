// Writes the coordinates of the elements that are not zero as columns of the output, in row-major order;
// any layout, rank and type. One work-item walks one run of CHUNK elements; INPUT2 says how many
// coordinates stand before those of each run.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef CHUNK
#define CHUNK 64
#define ADVANCE(c) (c)[3]++
#endif

KERNEL(nonzero_ref)(const global INPUT0_TYPE* restrict input, const global INPUT2_TYPE* restrict starts,
                    global OUTPUT0_TYPE* restrict output ARGS) {
    const int chunk = get_global_id(0);
    if (chunk >= INPUT2_SIZE_0) return;
    const int size = min(CHUNK, INPUT0_COUNT - chunk * CHUNK);
    if (size <= 0) return;
    int at[MAX_RANK] = {0};
    INPUT0_UNRAVEL(chunk * CHUNK, at);
    int column = INPUT2_LOAD(starts, INPUT2_OFFSET + chunk * INPUT2_PITCH_0);
    for (int i = 0; i < size; ++i) {
        if (INPUT0_LOAD(input, INPUT0_INDEX_OF(at)) != 0) {
            for (int axis = 0; axis < OUTPUT0_SIZE_0; ++axis)
                OUTPUT0_STORE(output, OUTPUT0_OFFSET + axis * OUTPUT0_PITCH_0 + column * OUTPUT0_PITCH_1, at[axis]);
            ++column;
        }
        ADVANCE(at);
    }
}
