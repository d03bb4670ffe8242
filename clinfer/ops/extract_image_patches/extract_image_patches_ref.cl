// Lays windows of pictures [n, c, h, w] out as channels (place in the window, channel); any layout and type. PADS:
// zeros stand around the pictures, ARG_PAD_Y and ARG_PAD_X of them in front. One work-item writes up to SPAN elements
// along the last axis; work-groups of LOCAL work-items, the last of which is not full.
#include "clinfer.cl"

#ifndef WINDOW_Y
#define WINDOW_Y 3
#define WINDOW_X 3
#define STRIDE_Y 1
#define STRIDE_X 1
#define RATE_Y 1
#define RATE_X 1
#define PADS 1
#define ARG_PAD_Y 1
#define ARG_PAD_X 1
#define SPAN 64
#define LOCAL 1
#endif

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(extract_image_patches_ref)(const global INPUT0_TYPE* restrict input,
                                  global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_X, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN, row = (index_t)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_X >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_X, at);
    const index_t place = at[1] / INPUT0_SIZE_F, channel = at[1] % INPUT0_SIZE_F;
    const index_t y = at[2] * STRIDE_Y + place / WINDOW_X * RATE_Y - ARG_PAD_Y;
    const index_t before = place % WINDOW_X * RATE_X - ARG_PAD_X, end = min(first + SPAN, OUTPUT0_SIZE_X);
    // From i = left to right the pixels are within the picture.
    index_t left = first, right = end;
#if PADS
    const index_t behind = INPUT0_SIZE_X - before;
    left = before < 0 ? clamp(CEIL_DIV(-before, STRIDE_X), first, end) : first;
    right = y >= 0 && y < INPUT0_SIZE_Y && behind > 0 ? clamp(CEIL_DIV(behind, STRIDE_X), left, end) : left;
    for (index_t i = first; i < left; ++i)
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(at[0], at[1], at[2], i), (INPUT0_COMPUTE)0);
    for (index_t i = right; i < end; ++i)
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(at[0], at[1], at[2], i), (INPUT0_COMPUTE)0);
#endif
    for (index_t i = left; i < right; ++i)
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(at[0], at[1], at[2], i),
                      INPUT0_LOAD(input, INPUT0_GET_INDEX(at[0], channel, y, i * STRIDE_X + before)));
}
