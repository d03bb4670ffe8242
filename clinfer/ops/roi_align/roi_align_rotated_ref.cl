// Pools turned rectangles (INPUT1 [r, 5]: centre x and y, width, height, all times SCALE, angle times TURN; of the
// pictures that INPUT2 [r] names) of feature maps [n, c, h, w]; any layout and float type. One work-item computes one
// bin of one channel. What lies further than a pixel outside of a picture counts as 0, as does all of a picture that
// does not exist.
#include "clinfer.cl"
#include "shared/pixels.h"

#ifndef SAMPLES
#define SAMPLES 0
#define SCALE 1.0f
#define TURN 1
#endif

KERNEL(roi_align_rotated_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict rois,
                              const global INPUT2_TYPE* restrict batches, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const long batch = (long)INPUT2_LOAD(batches, INPUT2_OFFSET + at[0] * INPUT2_PITCH_0);
    float roi[5];
    for (int i = 0; i < 5; ++i) roi[i] = (float)INPUT1_LOAD(rois, INPUT1_GET_INDEX(at[0], i)) * (i < 4 ? SCALE : TURN);
    const float bin_width = roi[2] / OUTPUT0_SIZE_X, bin_height = roi[3] / OUTPUT0_SIZE_Y;
    const int columns = SAMPLES ? SAMPLES : convert_int_sat(ceil(bin_width));
    const int rows = SAMPLES ? SAMPLES : convert_int_sat(ceil(bin_height));
    const float cosine = cos(roi[4]), sine = sin(roi[4]);
    const bool exists = batch >= 0 && batch < INPUT0_SIZE_B && INPUT0_SIZE_Y * INPUT0_SIZE_X > 0;
    float sum = 0;
    for (int i = 0; i < rows && exists; ++i) {
        const float down = (at[2] + (i + 0.5f) / rows) * bin_height - roi[3] / 2;
        for (int j = 0; j < columns; ++j) {
            const float aside = (at[3] + (j + 0.5f) / columns) * bin_width - roi[2] / 2;
            const float y = down * cosine - aside * sine + roi[1] - 0.5f;
            const float x = down * sine + aside * cosine + roi[0] - 0.5f;
            if (!(x >= -1 && x <= INPUT0_SIZE_X && y >= -1 && y <= INPUT0_SIZE_Y)) continue;
            const float y_inside = clamp(y, 0.0f, (float)(INPUT0_SIZE_Y - 1));
            const float x_inside = clamp(x, 0.0f, (float)(INPUT0_SIZE_X - 1));
            float value;
            PIXEL_BETWEEN(value, input, batch, at[1], y_inside, x_inside)
            sum += value;
        }
    }
    if (rows > 0 && columns > 0) sum /= (float)rows * columns;
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), (OUTPUT0_COMPUTE)sum);
}
