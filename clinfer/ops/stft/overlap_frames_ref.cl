// Puts signals [n, samples] together of frames [n, frames, size] that are ARG_STEP samples apart: the sum of the frames
// at a sample times the window (INPUT1, which starts at element ARG_BEFORE of the frame) over the sum of the window's
// squares, 0 where that is 0. CENTER: sample 0 is the middle of the first frame. NORMALIZED: times the root of the
// size. Any layout and float type. One work-item computes one sample.
#include "clinfer.cl"

#ifndef CENTER
#define CENTER 0
#define NORMALIZED 0
#define ARG_STEP 4
#define ARG_BEFORE 0
#endif

KERNEL(overlap_frames_ref)(const global INPUT0_TYPE* restrict frames, const global INPUT1_TYPE* restrict window,
                           global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t size = INPUT0_SIZE_2, sample = at[1] + (CENTER ? size / 2 : 0);
    const index_t first = sample < size ? 0 : (sample - size) / ARG_STEP + 1;
    float sum = 0, squares = 0;
    for (index_t frame = first; frame < INPUT0_SIZE_1 && frame * ARG_STEP <= sample; ++frame) {
        const index_t place = sample - frame * ARG_STEP;
        if (place < ARG_BEFORE || place - ARG_BEFORE >= INPUT1_SIZE_0) continue;
        const float factor = (float)INPUT1_LOAD(window, INPUT1_OFFSET + (place - ARG_BEFORE) * INPUT1_PITCH_0);
        sum += factor * (float)INPUT0_LOAD(frames, INPUT0_GET_INDEX(at[0], frame, place));
        squares += factor * factor;
    }
    if (squares != 0) sum *= (NORMALIZED ? sqrt((float)size) : 1) / squares;
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), (OUTPUT0_COMPUTE)(squares != 0 ? sum : 0));
}
