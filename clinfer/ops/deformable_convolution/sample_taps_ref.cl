// What the taps of filters of WINDOW_Y x WINDOW_X see of pictures [n, c, h, w], as channels (c, tap): INPUT1
// [n, (group, tap, y and x), rows, columns] moves them, INPUT2 [n, (group, tap), rows, columns] is a factor
// (HAS_FACTORS); any layout and float type. Pixels are interpolated; a tap that is outside sees 0, with FADES from a
// pixel beyond the edge on. One work-item sees one place by one tap, for all channels of one of GROUPS groups.
#include "clinfer.cl"

#ifndef GROUPS
#define GROUPS 1
#define FADES 0
#define HAS_FACTORS 0
#define WINDOW_Y 3
#define WINDOW_X 3
#define STRIDE_Y 1
#define STRIDE_X 1
#define DILATION_Y 1
#define DILATION_X 1
#define ARG_PAD_Y 1
#define ARG_PAD_X 1
#endif

#define TAPS (WINDOW_Y * WINDOW_X)
#define PIXEL(y, x) ((float)INPUT0_LOAD(input, INPUT0_GET_INDEX(batch, channel, y, x)))

KERNEL(sample_taps_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict offsets,
#if HAS_FACTORS
                        const global INPUT2_TYPE* restrict factors,
#endif
                        global OUTPUT0_TYPE* restrict output ARGS) {
    index_t rest = get_global_id(0);
    const index_t column = rest % OUTPUT0_SIZE_X;
    rest /= OUTPUT0_SIZE_X;
    const index_t row = rest % OUTPUT0_SIZE_Y;
    rest /= OUTPUT0_SIZE_Y;
    const index_t tap = rest % TAPS, group = rest / TAPS % GROUPS, batch = rest / TAPS / GROUPS;
    if (batch >= OUTPUT0_SIZE_B) return;
    const index_t moved = (group * TAPS + tap) * 2;
    const float y = row * STRIDE_Y - ARG_PAD_Y + tap / WINDOW_X * DILATION_Y
        + (float)INPUT1_LOAD(offsets, INPUT1_GET_INDEX(batch, moved, row, column));
    const float x = column * STRIDE_X - ARG_PAD_X + tap % WINDOW_X * DILATION_X
        + (float)INPUT1_LOAD(offsets, INPUT1_GET_INDEX(batch, moved + 1, row, column));
    const bool is_seen = FADES ? y > -1 && y < INPUT0_SIZE_Y && x > -1 && x < INPUT0_SIZE_X
                               : y >= 0 && y < INPUT0_SIZE_Y && x >= 0 && x < INPUT0_SIZE_X;
    float factor = is_seen;
#if HAS_FACTORS
    factor *= (float)INPUT2_LOAD(factors, INPUT2_GET_INDEX(batch, group * TAPS + tap, row, column));
#endif
    const index_t above = is_seen ? (index_t)floor(y) : 0, left = is_seen ? (index_t)floor(x) : 0;
    const float down = is_seen ? y - above : 0, aside = is_seen ? x - left : 0;
    const index_t top = max(above, (index_t)0), bottom = min(above + 1, INPUT0_SIZE_Y - 1);
    const index_t first = max(left, (index_t)0), last = min(left + 1, INPUT0_SIZE_X - 1);
    // Beyond the edge a pixel is 0; without FADES it is that of the edge.
    const float upper = factor * (1 - down) * (above >= 0);
    const float lower = factor * down * (!FADES || above + 1 < INPUT0_SIZE_Y);
    const float before = (1 - aside) * (left >= 0);
    const float behind = aside * (!FADES || left + 1 < INPUT0_SIZE_X);
    const index_t channels = INPUT0_SIZE_F / GROUPS;
    for (index_t channel = group * channels; channel < (group + 1) * channels; ++channel) {
        const float value = is_seen ? upper * (before * PIXEL(top, first) + behind * PIXEL(top, last))
            + lower * (before * PIXEL(bottom, first) + behind * PIXEL(bottom, last)) : 0;
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(batch, channel * TAPS + tap, row, column), (OUTPUT0_COMPUTE)value);
    }
}
