// Takes the frames [n, frames, size] of signals [n, samples], ARG_STEP samples apart, times a window (INPUT1), which
// starts at element ARG_BEFORE of the frame; around it are zeros. Any layout and type. One work-item writes one
// element.
#include "clinfer.cl"

#ifndef ARG_STEP
#define ARG_STEP 4
#define ARG_BEFORE 0
#endif

KERNEL(take_frames_ref)(const global INPUT0_TYPE* restrict signals, const global INPUT1_TYPE* restrict window,
                        global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t place = at[2] - ARG_BEFORE;
    OUTPUT0_COMPUTE value = 0;
    if (place >= 0 && place < INPUT1_SIZE_0)
        value = INPUT0_LOAD(signals, INPUT0_GET_INDEX(at[0], at[1] * ARG_STEP + at[2]))
            * INPUT1_LOAD(window, INPUT1_OFFSET + place * INPUT1_PITCH_0);
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), value);
}
