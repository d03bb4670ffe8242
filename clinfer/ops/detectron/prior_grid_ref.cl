// Moves the anchors of INPUT0 [p, 4] to the middle of each place of a map (INPUT1 [1, c, y, x]), row by row, STEP_Y
// and STEP_X pixels apart (0: spread over the picture, INPUT2 [1, c, y, x]). Any layout and float type. One work-item
// writes one number.
#include "clinfer.cl"

#ifndef STEP_Y
#define STEP_Y 0.0f
#define STEP_X 0.0f
#endif

KERNEL(prior_grid_ref)(const global INPUT0_TYPE* restrict anchors, const global INPUT1_TYPE* restrict map,
                       const global INPUT2_TYPE* restrict picture, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    const index_t columns = INPUT1_SIZE_X;
    const index_t number = item % 4, anchor = item / 4 % INPUT0_SIZE_0, place = item / 4 / INPUT0_SIZE_0;
    const float step_y = STEP_Y != 0 ? STEP_Y : (float)INPUT2_SIZE_Y / INPUT1_SIZE_Y;
    const float step_x = STEP_X != 0 ? STEP_X : (float)INPUT2_SIZE_X / columns;
    const float moved = number % 2 ? step_y * (place / columns + 0.5f) : step_x * (place % columns + 0.5f);
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const float value = INPUT0_LOAD(anchors, INPUT0_GET_INDEX(anchor, number));
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), value + moved);
}
