// Writes the boxes of INPUT0 [n, k, 4] that were selected (INPUT1: places, INPUT2: scores [n, m], best first; INPUT3:
// how many of each picture) to OUTPUT0, NUMBERED with their picture, and their scores to OUTPUT1. FIXED: ARG_ROWS rows
// for each picture, zeros where there is no box, and INPUT4 is height and width of pictures; else rows stand close
// together, INPUT4 is how many the pictures before have, and OUTPUT2 is how many each has. One work-item writes one
// row.
#include "clinfer.cl"

#ifndef FIXED
#define OUTPUTS 2
#define FIXED 1
#define NUMBERED 0
#define EXTENT 0.0f
#define TURNED 0
#define CLIPS 0
#define NORMALIZES 0
#define ARG_ROWS 1
#endif

KERNEL(proposals_ref)(const global INPUT0_TYPE* restrict boxes, const global INPUT1_TYPE* restrict places,
                      const global INPUT2_TYPE* restrict scores, const global INPUT3_TYPE* restrict counts,
                      const global INPUT4_TYPE* restrict others,
                      global OUTPUT0_TYPE* restrict output
#if OUTPUTS > 1
                      , global OUTPUT1_TYPE* restrict output_scores
#endif
#if OUTPUTS > 2
                      , global OUTPUT2_TYPE* restrict output_counts
#endif
                      ARGS) {
    const int item = get_global_id(0);
    if (item >= INPUT3_SIZE_0 * ARG_ROWS) return;
    const int image = item / ARG_ROWS, rank = item % ARG_ROWS;
    const int count = INPUT3_LOAD(counts, INPUT3_OFFSET + image * INPUT3_PITCH_0);
#if OUTPUTS > 2
    if (rank == 0) OUTPUT2_STORE(output_counts, OUTPUT2_OFFSET + image * OUTPUT2_PITCH_0, count);
#endif
    if (!FIXED && rank >= count) return;
    const int row = FIXED ? item : (int)INPUT4_LOAD(others, INPUT4_OFFSET + image * INPUT4_PITCH_0) + rank;
    float corner[4] = {0.0f, 0.0f, 0.0f, 0.0f}, score = 0.0f, number = rank == count ? -1.0f : 0.0f;
    if (rank < count) {
        const int place = INPUT1_LOAD(places, INPUT1_GET_INDEX(image, rank));
        const int data = INPUT4_OFFSET + (INPUT4_RANK > 1 ? image * INPUT4_PITCH_0 : 0);
        const float first = FIXED ? INPUT4_LOAD(others, data) : 0;
        const float second = FIXED ? INPUT4_LOAD(others, data + INPUT4_PITCH_LAST) : 0;
        for (int i = 0; i < 4; ++i) {
            const float side = i % 2 == TURNED ? second : first;
            corner[i] = INPUT0_LOAD(boxes, INPUT0_GET_INDEX(image, place, i)) - (i < 2 ? 0.0f : EXTENT);
            if (CLIPS) corner[i] = fmax(fmin(corner[i], side), 0.0f);
            if (NORMALIZES) corner[i] /= side;
        }
        score = INPUT2_LOAD(scores, INPUT2_GET_INDEX(image, rank));
        number = image;
    }
    if (NUMBERED) OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(row, 0), number);
    for (int i = 0; i < 4; ++i) OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(row, i + NUMBERED), corner[i]);
#if OUTPUTS > 1
    OUTPUT1_STORE(output_scores, OUTPUT1_OFFSET + row * OUTPUT1_PITCH_0, score);
#endif
}
