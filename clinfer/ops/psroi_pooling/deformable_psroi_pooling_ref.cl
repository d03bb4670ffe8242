// Pools rectangles (INPUT1 [r, 5]: picture, x1, y1, x2, y2, times SCALE) of feature maps [n, c, h, w], each bin from
// the channel (output channel, y, x); any layout and float type. MOVES: INPUT2 [r, 2 * classes, PARTS, PARTS] moves the
// bins along x and y, as parts of the rectangle's sides times REACH. A bin is the mean of those of BINS_Y x BINS_X
// places in it, interpolated, that lie in the picture. One work-item computes one bin of one output channel.
#include "clinfer.cl"
#include "shared/pixels.h"

#ifndef SCALE
#define SCALE 1.0f
#define BINS_X 1
#define BINS_Y 1
#define MOVES 1
#define REACH 1.0f
#define PARTS 1
#endif

KERNEL(deformable_psroi_pooling_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict rois,
#if MOVES
                                     const global INPUT2_TYPE* restrict offsets,
#endif
                                     global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    float roi[5];
    for (int i = 0; i < 5; ++i) roi[i] = (float)INPUT1_LOAD(rois, INPUT1_GET_INDEX(at[0], i));
    const index_t batch = (index_t)roi[0];
    const float width = fmax((round(roi[3]) + 1 - round(roi[1])) * SCALE, 0.1f);
    const float height = fmax((round(roi[4]) + 1 - round(roi[2])) * SCALE, 0.1f);
    const float bin_width = width / OUTPUT0_SIZE_X, bin_height = height / OUTPUT0_SIZE_Y;
    float left = round(roi[1]) * SCALE - 0.5f + at[3] * bin_width;
    float top = round(roi[2]) * SCALE - 0.5f + at[2] * bin_height;
#if MOVES
    const index_t class = at[1] / max(OUTPUT0_SIZE_F / (INPUT2_SIZE_F / 2), (index_t)1);
    const index_t part_y = at[2] * PARTS / OUTPUT0_SIZE_Y, part_x = at[3] * PARTS / OUTPUT0_SIZE_X;
    left += (float)INPUT2_LOAD(offsets, INPUT2_GET_INDEX(at[0], class * 2, part_y, part_x)) * REACH * width;
    top += (float)INPUT2_LOAD(offsets, INPUT2_GET_INDEX(at[0], class * 2 + 1, part_y, part_x)) * REACH * height;
#endif
    const index_t channel = (at[1] * OUTPUT0_SIZE_Y + at[2]) * OUTPUT0_SIZE_X + at[3];
    const bool exists = roi[0] >= 0 && batch < INPUT0_SIZE_B && channel < INPUT0_SIZE_F
        && INPUT0_SIZE_Y * INPUT0_SIZE_X > 0;
    float sum = 0;
    int inside = 0;
    for (int i = 0; i < BINS_Y * BINS_X && exists; ++i) {
        const float y = top + i / BINS_X * (bin_height / BINS_Y), x = left + i % BINS_X * (bin_width / BINS_X);
        if (!(y >= -0.5f && y <= INPUT0_SIZE_Y - 0.5f && x >= -0.5f && x <= INPUT0_SIZE_X - 0.5f)) continue;
        const float y_inside = clamp(y, 0.0f, (float)(INPUT0_SIZE_Y - 1));
        const float x_inside = clamp(x, 0.0f, (float)(INPUT0_SIZE_X - 1));
        float value;
        PIXEL_BETWEEN(value, input, batch, channel, y_inside, x_inside)
        sum += value;
        ++inside;
    }
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), (OUTPUT0_COMPUTE)(inside ? sum / inside : 0));
}
