// Writes the same COUNT boxes for each place of a map of ARG_MAP_HEIGHT x ARG_MAP_WIDTH, as parts of a picture of
// ARG_PICTURE_HEIGHT x ARG_PICTURE_WIDTH, into row 0 (x1, y1, x2, y2), and VARIANCES into row 1. Each of BOXES is half
// of its width and height, whether these are parts of the picture's height, where its centre is from the middle of the
// place along x and y, and whether it is clipped. STEPS: 0 places are STEP_Y and STEP_X apart (STEPS_GROW:
// times the picture's height), 1 they fill the picture, 2 their height does. One work-item writes one box.
#include "clinfer.cl"

#ifndef BOXES
#define BOXES {{8.0f, 8.0f, 0.0f, 0.0f, 0.0f, 0.0f}}
#define COUNT 1
#define STEPS 0
#define STEP_Y 16.0f
#define STEP_X 16.0f
#define STEPS_GROW 0
#define MIDDLE 0.5f
#define CLIP 0
#define VARIANCES {0.1f, 0.1f, 0.2f, 0.2f}
#define ARG_MAP_HEIGHT 2
#define ARG_MAP_WIDTH 2
#define ARG_PICTURE_HEIGHT 32
#define ARG_PICTURE_WIDTH 32
#endif

KERNEL(prior_box_ref)(global OUTPUT0_TYPE* restrict output ARGS) {
    const float boxes[][6] = BOXES, variances[] = VARIANCES;
    const index_t item = get_global_id(0);
    const index_t place = item / COUNT, row = place / ARG_MAP_WIDTH, column = place % ARG_MAP_WIDTH;
    if (row >= ARG_MAP_HEIGHT) return;
    const int box = item % COUNT;
    const float height = ARG_PICTURE_HEIGHT, width = ARG_PICTURE_WIDTH;
#if STEPS == 0
    const float step_y = STEP_Y * (STEPS_GROW ? height : 1), step_x = STEP_X * (STEPS_GROW ? height : 1);
#elif STEPS == 1
    const float step_y = height / ARG_MAP_HEIGHT, step_x = width / ARG_MAP_WIDTH;
#else
    const float step_y = height / ARG_MAP_HEIGHT, step_x = step_y;
#endif
    const float scale = boxes[box][2] != 0 ? height : 1;
    const float half_width = boxes[box][0] * scale, half_height = boxes[box][1] * scale;
    const float x = (column + MIDDLE) * step_x + boxes[box][3], y = (row + MIDDLE) * step_y + boxes[box][4];
    float corners[] = {(x - half_width) / width, (y - half_height) / height,
                       (x + half_width) / width, (y + half_height) / height};
    for (int i = 0; i < 4; ++i) {
        if (boxes[box][5] != 0) corners[i] = i < 2 ? fmax(corners[i], 0.0f) : fmin(corners[i], 1.0f);
        if (CLIP) corners[i] = clamp(corners[i], 0.0f, 1.0f);
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(0, item * 4 + i), (OUTPUT0_COMPUTE)corners[i]);
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(1, item * 4 + i), (OUTPUT0_COMPUTE)variances[i]);
    }
}
