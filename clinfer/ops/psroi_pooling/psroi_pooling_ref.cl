// Pools rectangles (INPUT1 [r, 5]: picture, x1, y1, x2, y2, times SCALE) of feature maps [n, c, h, w], each bin from
// channels of its own; any layout and float type. IS_AVERAGE: the mean of the bin's pixels in channel (output channel,
// y, x); else the mean of BINS_Y x BINS_X interpolated places, one in each part of the rectangle, in channels (part,
// output channel). One work-item computes one bin of one output channel.
#include "clinfer.cl"
#include "shared/pixels.h"

#ifndef SCALE
#define SCALE 1.0f
#define BINS_X 1
#define BINS_Y 1
#define IS_AVERAGE 1
#endif

// The place of bin i of `bins` along an axis of that size, in the part of it that starts at `from`.
float FUNC(place)(float from, float part, index_t i, index_t bins, index_t size) {
    const float last = size - 1;
    return bins == 1 ? 0.5f * (from + from + part) * last : i * (part * last / (bins - 1)) + from * last;
}

KERNEL(psroi_pooling_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict rois,
                          global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    float roi[5];
    for (int i = 0; i < 5; ++i) roi[i] = (float)INPUT1_LOAD(rois, INPUT1_GET_INDEX(at[0], i));
    const index_t batch = (index_t)roi[0];
    float result = 0;
    if (roi[0] >= 0 && batch < INPUT0_SIZE_B) {
#if IS_AVERAGE
        const float left = round(roi[1]) * SCALE, top = round(roi[2]) * SCALE;
        const float width = fmax((round(roi[3]) + 1) * SCALE - left, 0.1f) / OUTPUT0_SIZE_X;
        const float height = fmax((round(roi[4]) + 1) * SCALE - top, 0.1f) / OUTPUT0_SIZE_Y;
        const index_t y_start = clamp((index_t)floor(top + at[2] * height), (index_t)0, INPUT0_SIZE_Y);
        const index_t x_start = clamp((index_t)floor(left + at[3] * width), (index_t)0, INPUT0_SIZE_X);
        const index_t y_end = clamp((index_t)ceil(top + (at[2] + 1) * height), (index_t)0, INPUT0_SIZE_Y);
        const index_t x_end = clamp((index_t)ceil(left + (at[3] + 1) * width), (index_t)0, INPUT0_SIZE_X);
        const index_t channel = (at[1] * OUTPUT0_SIZE_Y + at[2]) * OUTPUT0_SIZE_X + at[3];
        for (index_t y = y_start; y < y_end && channel < INPUT0_SIZE_F; ++y)
            for (index_t x = x_start; x < x_end; ++x)
                result += (float)INPUT0_LOAD(input, INPUT0_GET_INDEX(batch, channel, y, x));
        if (y_start < y_end && x_start < x_end) result /= (float)((y_end - y_start) * (x_end - x_start));
#else
        const float width = (roi[3] - roi[1]) * SCALE / BINS_X, height = (roi[4] - roi[2]) * SCALE / BINS_Y;
        for (int part = 0; part < BINS_Y * BINS_X; ++part) {
            const float top = roi[2] * SCALE + part / BINS_X * height, left = roi[1] * SCALE + part % BINS_X * width;
            const float y = FUNC(place)(top, height, at[2], OUTPUT0_SIZE_Y, INPUT0_SIZE_Y);
            const float x = FUNC(place)(left, width, at[3], OUTPUT0_SIZE_X, INPUT0_SIZE_X);
            const index_t channel = part * OUTPUT0_SIZE_F + at[1];
            if (!(y >= 0 && y <= INPUT0_SIZE_Y - 1 && x >= 0 && x <= INPUT0_SIZE_X - 1)) continue;
            if (channel >= INPUT0_SIZE_F) continue;
            float value;
            PIXEL_BETWEEN(value, input, batch, channel, y, x)
            result += value;
        }
        result /= BINS_Y * BINS_X;
#endif
    }
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), (OUTPUT0_COMPUTE)result);
}
