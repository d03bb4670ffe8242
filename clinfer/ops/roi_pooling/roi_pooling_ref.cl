// Pools rectangles (INPUT1 [r, 5]: picture, x1, y1, x2, y2) of feature maps [n, c, h, w]; any layout and float type.
// IS_MAX: the largest pixel of each bin, of rectangles whose corners, times SCALE and rounded, are pixels of them;
// else one place for each bin, interpolated, of rectangles whose corners are parts of the picture. One work-item
// computes one bin of CHANNELS channels. Dimension 0: bins, 1: groups of channels.
#include "clinfer.cl"
#include "shared/pixels.h"

#ifndef IS_MAX
#define IS_MAX 1
#define SCALE 1.0f
#define CHANNELS 16
#endif

// The place of bin i of `bins` along an axis of that size, between two parts of it.
float FUNC(place)(float from, float to, index_t i, index_t bins, index_t size) {
    const float last = size - 1;
    if (bins == 1) return 0.5f * (from + to) * last;
    return i == bins - 1 ? to * last : i * ((to - from) * last / (bins - 1)) + from * last;
}

KERNEL(roi_pooling_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict rois,
                        global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0), number = item / (OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X);
    const index_t row = item / OUTPUT0_SIZE_X % OUTPUT0_SIZE_Y, column = item % OUTPUT0_SIZE_X;
    if (number >= OUTPUT0_SIZE_B) return;
    float roi[5];
    for (int i = 0; i < 5; ++i) roi[i] = (float)INPUT1_LOAD(rois, INPUT1_GET_INDEX(number, i));
    const index_t batch = (index_t)roi[0];
    bool is_there = roi[0] >= 0 && batch < INPUT0_SIZE_B;
#if IS_MAX
    const index_t left = (index_t)round(roi[1] * SCALE), top = (index_t)round(roi[2] * SCALE);
    const index_t width = max((index_t)round(roi[3] * SCALE) - left + 1, (index_t)1);
    const index_t height = max((index_t)round(roi[4] * SCALE) - top + 1, (index_t)1);
    const index_t y_end = min(top + CEIL_DIV((row + 1) * height, OUTPUT0_SIZE_Y), INPUT0_SIZE_Y);
    const index_t x_end = min(left + CEIL_DIV((column + 1) * width, OUTPUT0_SIZE_X), INPUT0_SIZE_X);
    const index_t y_start = max(top + row * height / OUTPUT0_SIZE_Y, (index_t)0);
    const index_t x_start = max(left + column * width / OUTPUT0_SIZE_X, (index_t)0);
    is_there &= y_start < y_end && x_start < x_end;
#else
    const float y = FUNC(place)(roi[2], roi[4], row, OUTPUT0_SIZE_Y, INPUT0_SIZE_Y);
    const float x = FUNC(place)(roi[1], roi[3], column, OUTPUT0_SIZE_X, INPUT0_SIZE_X);
    is_there &= y >= 0 && y <= INPUT0_SIZE_Y - 1 && x >= 0 && x <= INPUT0_SIZE_X - 1;
#endif
    const index_t first = (index_t)get_global_id(1) * CHANNELS, end = min(first + CHANNELS, OUTPUT0_SIZE_F);
    for (index_t channel = first; channel < end; ++channel) {
        float result = 0;
        if (is_there) {
#if IS_MAX
            result = -INFINITY;
            for (index_t y = y_start; y < y_end; ++y) {
                for (index_t x = x_start; x < x_end; ++x) {
                    const float value = (float)INPUT0_LOAD(input, INPUT0_GET_INDEX(batch, channel, y, x));
                    result = value > result ? value : result;
                }
            }
#else
            PIXEL_BETWEEN(result, input, batch, channel, y, x)
#endif
        }
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(number, channel, row, column), (OUTPUT0_COMPUTE)result);
    }
}
