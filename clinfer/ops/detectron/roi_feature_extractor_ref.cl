// Pools the regions (ROIS [r, 4]: x1, y1, x2, y2) that belong to map LEVEL of LEVELS, which is INPUT0 [1, c, y, x],
// SCALE times as large as the picture; any layout and float type. Level 0 also writes zeros for regions without an
// area, and the regions themselves (OUTPUT1). One work-item computes one bin of one channel, or copies one number of a
// region. What lies further than a pixel outside of a map counts as 0.
#include "clinfer.cl"
#include "shared/pixels.h"

#ifndef LEVEL
#define LEVEL 0
#define LEVELS 1
#define SAMPLES 2
#define SCALE 0.25f
#define SHIFT 0.0f
#define ROIS_TYPE float
#define ROIS_LOAD(p, i) (p)[i]
#define ROIS_GET_INDEX(y, x) ((y) * 4 + (x))
#endif

KERNEL(roi_feature_extractor_ref)(const global ROIS_TYPE* restrict rois, const global INPUT0_TYPE* restrict input,
                                  global OUTPUT0_TYPE* restrict output, global OUTPUT1_TYPE* restrict copied ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT + OUTPUT1_COUNT) return;
    if (item >= OUTPUT0_COUNT) {
        const index_t region = (item - OUTPUT0_COUNT) / 4, number = (item - OUTPUT0_COUNT) % 4;
        if (LEVEL == 0)
            OUTPUT1_STORE(copied, OUTPUT1_GET_INDEX(region, number), ROIS_LOAD(rois, ROIS_GET_INDEX(region, number)));
        return;
    }
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    float corner[4];
    for (int i = 0; i < 4; ++i) corner[i] = (float)ROIS_LOAD(rois, ROIS_GET_INDEX(at[0], i));
    const float area = (corner[2] - corner[0]) * (corner[3] - corner[1]);
    if (!(area > 0)) {
        if (LEVEL == 0) OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), 0.0f);
        return;
    }
    const float level = clamp(floor(log2(sqrt(area) / 224 + 1e-6f) + 2), 0.0f, (float)(LEVELS - 1));
    if (level != LEVEL) return;
    for (int i = 0; i < 4; ++i) corner[i] = corner[i] * SCALE - SHIFT;
    const float bin_width = fmax(corner[2] - corner[0], 1.0f) / OUTPUT0_SIZE_X;
    const float bin_height = fmax(corner[3] - corner[1], 1.0f) / OUTPUT0_SIZE_Y;
    const int columns = SAMPLES ? SAMPLES : convert_int_sat(ceil(bin_width));
    const int rows = SAMPLES ? SAMPLES : convert_int_sat(ceil(bin_height));
    float sum = 0;
    for (int i = 0; i < rows; ++i) {
        const float y = corner[1] + at[2] * bin_height + bin_height / rows * (i + 0.5f);
        for (int j = 0; j < columns; ++j) {
            const float x = corner[0] + at[3] * bin_width + bin_width / columns * (j + 0.5f);
            if (!(x >= -1 && x <= INPUT0_SIZE_X && y >= -1 && y <= INPUT0_SIZE_Y)) continue;
            const float y_inside = clamp(y, 0.0f, (float)(INPUT0_SIZE_Y - 1));
            const float x_inside = clamp(x, 0.0f, (float)(INPUT0_SIZE_X - 1));
            float value;
            PIXEL_BETWEEN(value, input, 0, at[1], y_inside, x_inside)
            sum += value;
        }
    }
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), (OUTPUT0_COMPUTE)(sum / ((float)rows * columns)));
}
