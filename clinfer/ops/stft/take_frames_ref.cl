// Takes the frames [n, frames, size] of signals [n, samples], ARG_STEP samples apart, times a window (INPUT1), which
// starts at element ARG_BEFORE of the frame; around it are zeros. Any layout and type. One work-item writes up to SPAN
// elements of a frame; work-groups of LOCAL work-items, the last of which is not full.
#include "clinfer.cl"

#ifndef ARG_STEP
#define ARG_STEP 4
#define ARG_BEFORE 0
#define SPAN 64
#define LOCAL 1
#endif

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(take_frames_ref)(const global INPUT0_TYPE* restrict signals, const global INPUT1_TYPE* restrict window,
                        global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_2, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN, row = (index_t)get_global_id(0) / spans;
    const index_t signal = row / OUTPUT0_SIZE_1, frame = row % OUTPUT0_SIZE_1;
    if (signal >= OUTPUT0_SIZE_0) return;
    const index_t end = min(first + SPAN, OUTPUT0_SIZE_2);
    for (index_t i = first; i < end; ++i) {
        const index_t place = i - ARG_BEFORE;
        OUTPUT0_COMPUTE value = 0;
        if (place >= 0 && place < INPUT1_SIZE_0)
            value = INPUT0_LOAD(signals, INPUT0_GET_INDEX(signal, frame * ARG_STEP + i))
                * INPUT1_LOAD(window, INPUT1_OFFSET + place * INPUT1_PITCH_0);
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(signal, frame, i), value);
    }
}
