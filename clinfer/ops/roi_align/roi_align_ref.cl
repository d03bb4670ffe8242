// Pools rectangles (INPUT1 [r, 4], of the pictures that INPUT2 [r] names) of feature maps [n, c, h, w]; any
// layout and float type. One work-item computes one bin of one channel. What lies further than a pixel outside of
// a picture counts as 0, as does all of a picture that does not exist.
#include "clinfer.cl"

#ifndef SAMPLES
#define SAMPLES 0
#define SCALE 1.0f
#define SHIFT_BEFORE 0.0f
#define SHIFT_BEHIND 0.0f
#define IS_ALIGNED 0
#define IS_MAX 0
#endif

#define PIXEL(y, x) ((float)INPUT0_LOAD(input, INPUT0_GET_INDEX(batch, channel, y, x)))

KERNEL(roi_align_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict rois,
                      const global INPUT2_TYPE* restrict batches, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t roi = at[0], channel = at[1];
    const long batch = (long)INPUT2_LOAD(batches, INPUT2_OFFSET + roi * INPUT2_PITCH_0);
    const index_t rectangle = INPUT1_OFFSET + roi * INPUT1_PITCH_0;
    float corner[4];
    for (int i = 0; i < 4; ++i) {
        const float given = (float)INPUT1_LOAD(rois, rectangle + i * INPUT1_PITCH_1);
        corner[i] = (given + SHIFT_BEFORE) * SCALE + SHIFT_BEHIND;
    }
    const float width = IS_ALIGNED ? corner[2] - corner[0] : fmax(corner[2] - corner[0], 1.0f);
    const float height = IS_ALIGNED ? corner[3] - corner[1] : fmax(corner[3] - corner[1], 1.0f);
    const float bin_width = width / OUTPUT0_SIZE_X, bin_height = height / OUTPUT0_SIZE_Y;
    const int columns = SAMPLES ? SAMPLES : convert_int_sat(ceil(bin_width));
    const int rows = SAMPLES ? SAMPLES : convert_int_sat(ceil(bin_height));
    const bool exists = batch >= 0 && batch < INPUT0_SIZE_B;
    float result = 0;
    for (int i = 0; i < rows && exists; ++i) {
        const float y = corner[1] + at[2] * bin_height + bin_height / rows * (i + 0.5f);
        for (int j = 0; j < columns; ++j) {
            const float x = corner[0] + at[3] * bin_width + bin_width / columns * (j + 0.5f);
            if (!(x >= -1 && x <= INPUT0_SIZE_X && y >= -1 && y <= INPUT0_SIZE_Y)) {
                if (IS_MAX) result = fmax(result, 0.0f);
                continue;
            }
            const float x_inside = clamp(x, 0.0f, (float)(INPUT0_SIZE_X - 1));
            const float y_inside = clamp(y, 0.0f, (float)(INPUT0_SIZE_Y - 1));
            const index_t left = (index_t)x_inside, top = (index_t)y_inside;
            const index_t right = min(left + 1, INPUT0_SIZE_X - 1), bottom = min(top + 1, INPUT0_SIZE_Y - 1);
            const float x_rest = x_inside - left, y_rest = y_inside - top;
            const float upper = (1 - x_rest) * PIXEL(top, left) + x_rest * PIXEL(top, right);
            const float lower = (1 - x_rest) * PIXEL(bottom, left) + x_rest * PIXEL(bottom, right);
            const float value = (1 - y_rest) * upper + y_rest * lower;
            result = IS_MAX ? fmax(result, value) : result + value;
        }
    }
    if (!IS_MAX && exists && rows > 0 && columns > 0) result /= (float)rows * columns;
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), (OUTPUT0_COMPUTE)result);
}
