// Leaves blanks out of sequences of classes, and those that equal the one before if MERGES; what is missing at the end
// is -1. INPUT1 says how many steps count, or with STEPS_FIRST is 0 where a sequence has ended; of tensors with that
// axis 0 are the steps. The blank is INPUT3 (HAS_BLANK), or the last of ARG_CLASSES classes. One work-item writes one
// sequence.
#include "clinfer.cl"

#ifndef STEPS_FIRST
#define STEPS_FIRST 0
#define MERGES 1
#define HAS_BLANK 0
#define ARG_CLASSES 16
#endif

KERNEL(ctc_greedy_decoder_ref)(const global INPUT0_TYPE* restrict classes, const global INPUT1_TYPE* restrict lengths,
#if HAS_BLANK
                               const global INPUT3_TYPE* restrict blanks,
#endif
                               global OUTPUT0_TYPE* restrict output
#if !STEPS_FIRST
                               , global OUTPUT1_TYPE* restrict counts
#endif
                               ARGS) {
    const int sequence = get_global_id(0);
    if (sequence >= OUTPUT0_SIZE_0) return;
#if HAS_BLANK
    const int blank = (int)INPUT3_LOAD(blanks, INPUT3_OFFSET);
#else
    const int blank = ARG_CLASSES - 1;
#endif
#if STEPS_FIRST
    int steps = 0;
    while (steps < INPUT0_SIZE_0 && INPUT1_LOAD(lengths, INPUT1_GET_INDEX(steps, sequence)) != 0) ++steps;
#else
    const int length = (int)INPUT1_LOAD(lengths, INPUT1_OFFSET + sequence * INPUT1_PITCH_0);
    const int steps = min(length, INPUT0_SIZE_1);
#endif
    const int row = OUTPUT0_OFFSET + sequence * OUTPUT0_PITCH_0;
    int count = 0, before = -1;
    for (int step = 0; step < steps; ++step) {
        const int at = STEPS_FIRST ? INPUT0_GET_INDEX(step, sequence, 0) : INPUT0_GET_INDEX(sequence, step, 0);
        const int class = (int)INPUT0_LOAD(classes, at);
        if (class != blank && !(MERGES && class == before))
            OUTPUT0_STORE(output, row + count++ * OUTPUT0_PITCH_1, (OUTPUT0_COMPUTE)class);
        before = class;
    }
#if !STEPS_FIRST
    OUTPUT1_STORE(counts, OUTPUT1_OFFSET + sequence * OUTPUT1_PITCH_0, count);
#endif
    for (; count < OUTPUT0_SIZE_1; ++count) OUTPUT0_STORE(output, row + count * OUTPUT0_PITCH_1, (OUTPUT0_COMPUTE)-1);
}
