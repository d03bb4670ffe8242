// Lays windows of pictures [n, c, h, w] out as channels (place in the window, channel); any layout and type. PADS:
// zeros stand around the pictures, ARG_PAD_Y and ARG_PAD_X of them in front. One work-item writes one element.
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
#endif

KERNEL(extract_image_patches_ref)(const global INPUT0_TYPE* restrict input,
                                  global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t place = at[1] / INPUT0_SIZE_F, channel = at[1] % INPUT0_SIZE_F;
    const index_t y = at[2] * STRIDE_Y + place / WINDOW_X * RATE_Y - ARG_PAD_Y;
    const index_t x = at[3] * STRIDE_X + place % WINDOW_X * RATE_X - ARG_PAD_X;
    const bool is_inside = !PADS || (y >= 0 && y < INPUT0_SIZE_Y && x >= 0 && x < INPUT0_SIZE_X);
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at),
                  is_inside ? INPUT0_LOAD(input, INPUT0_GET_INDEX(at[0], channel, y, x)) : (INPUT0_COMPUTE)0);
}
