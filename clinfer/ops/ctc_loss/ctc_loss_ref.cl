// Minus the logarithm of the probability of labels (INPUT2 [n, t], of which INPUT3 count), given logarithms of those
// of classes (INPUT0 [n, t, c], of which INPUT1 steps count); see op.py. The blank is INPUT4 (HAS_BLANK) or the last
// class. SCRATCH1 holds the labels that are left, SCRATCH0 the logarithm of the probability of having come to each
// place of blank, label, blank, label... blank. Any float and integer types. One work-item does one sequence.
#include "clinfer.cl"

#ifndef MERGES
#define COLLAPSES 0
#define MERGES 1
#define UNIQUE 0
#define HAS_BLANK 0
#endif

// The logarithm of the sum of two numbers, given theirs.
float FUNC(sum)(float a, float b) {
    const float more = fmax(a, b);
    return more == -INFINITY ? more : more + log1p(exp(fmin(a, b) - more));
}

KERNEL(ctc_loss_ref)(const global INPUT0_TYPE* restrict likely, const global INPUT1_TYPE* restrict lengths,
                     const global INPUT2_TYPE* restrict labels, const global INPUT3_TYPE* restrict label_counts,
#if HAS_BLANK
                     const global INPUT4_TYPE* restrict blanks,
#endif
                     global OUTPUT0_TYPE* restrict output, global float* restrict sums,
                     global int* restrict kept ARGS) {
    const int sequence = get_global_id(0);
    if (sequence >= OUTPUT0_COUNT) return;
    const int to = OUTPUT0_OFFSET + sequence * OUTPUT0_PITCH_0;
    const long steps = (long)INPUT1_LOAD(lengths, INPUT1_OFFSET + sequence * INPUT1_PITCH_0);
    const long given = (long)INPUT3_LOAD(label_counts, INPUT3_OFFSET + sequence * INPUT3_PITCH_0);
    if (steps < 0 || steps > INPUT0_SIZE_1 || given < 0 || given > steps) {
        OUTPUT0_STORE(output, to, NAN);
        return;
    }
#if HAS_BLANK
    const int blank = (int)INPUT4_LOAD(blanks, INPUT4_OFFSET);
#else
    const int blank = INPUT0_SIZE_2 - 1;
#endif
    sums += sequence * (2 * INPUT2_SIZE_1 + 1);
    kept += sequence * INPUT2_SIZE_1;
    int count = 0;
    for (int i = 0; i < given; ++i) {
        const int label = (int)INPUT2_LOAD(labels, INPUT2_GET_INDEX(sequence, i));
        bool is_new = !(COLLAPSES && !UNIQUE && count > 0 && kept[count - 1] == label);
        for (int j = 0; UNIQUE && j < count; ++j) is_new &= kept[j] != label;
        if (is_new) kept[count++] = label;
    }
    const int places = 2 * count + 1;
    for (int place = 0; place < places; ++place) sums[place] = -INFINITY;
    for (int step = 0; step < steps; ++step) {
        for (int place = min(places - 1, 2 * step + 1); place >= 0; --place) {
            const int class = place % 2 ? kept[place / 2] : blank;
            float sum = -INFINITY;
            if (step == 0) {
                sum = 0;
            } else {
                const int skipped = place > 1 && place % 2 ? kept[place / 2 - 1] : blank;
                if (MERGES || class == blank) sum = sums[place];
                if (place > 0) sum = FUNC(sum)(sum, sums[place - 1]);
                if (skipped != blank && !(MERGES && skipped == class)) sum = FUNC(sum)(sum, sums[place - 2]);
            }
            const bool exists = class >= 0 && class < INPUT0_SIZE_2;
            const int from = INPUT0_GET_INDEX(sequence, step, exists ? class : 0);
            sums[place] = exists ? sum + (float)INPUT0_LOAD(likely, from) : -INFINITY;
        }
    }
    float all = steps == 0 ? 0.0f : sums[places - 1];
    if (steps > 0 && places > 1) all = FUNC(sum)(all, sums[places - 2]);
    OUTPUT0_STORE(output, to, -all);
}
