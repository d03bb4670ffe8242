// Pictures [n, h, w, 3] in RGB (IS_BGR: BGR) from planes of brightness and colour; any layout and type. PLANES 2 or 3:
// brightness, then U beside V or U and V; 1: all in one [n, h * 3/2, w, 1], in which (IS_NV12) U stands beside V.
// IS_WHOLE: results are whole numbers. One work-item computes a square of two by two pixels, which share U and V.
#include "clinfer.cl"

#ifndef PLANES
#define PLANES 3
#define IS_NV12 0
#define IS_BGR 0
#define IS_WHOLE 1
#endif

#include "yuv.h"
#include "pixel.h"

#if PLANES == 1
#define COLOR_PLANES
#elif PLANES == 2
#define COLOR_PLANES const global INPUT1_TYPE* restrict colors,
#else
#define COLOR_PLANES const global INPUT1_TYPE* restrict u_plane, const global INPUT2_TYPE* restrict v_plane,
#endif

// An element of the one plane, by its place behind the brightness of a picture.
#define BEHIND(n, i) INPUT0_LOAD(luma, INPUT0_GET_INDEX(n, OUTPUT0_SIZE_1 + (i) / OUTPUT0_SIZE_2, \
                                                        (i) % OUTPUT0_SIZE_2, 0))

KERNEL(color_convert_ref)(const global INPUT0_TYPE* restrict luma, COLOR_PLANES
                          global OUTPUT0_TYPE* restrict output ARGS) {
    const int width = OUTPUT0_SIZE_2 / 2, height = OUTPUT0_SIZE_1 / 2;
    const int item = get_global_id(0);
    if (item >= OUTPUT0_SIZE_0 * height * width) return;
    const int x = item % width, y = item / width % height, n = item / (width * height);
#if PLANES == 3
    const float u = INPUT1_LOAD(u_plane, INPUT1_GET_INDEX(n, y, x, 0));
    const float v = INPUT2_LOAD(v_plane, INPUT2_GET_INDEX(n, y, x, 0));
#elif PLANES == 2
    const float u = INPUT1_LOAD(colors, INPUT1_GET_INDEX(n, y, x, 0));
    const float v = INPUT1_LOAD(colors, INPUT1_GET_INDEX(n, y, x, 1));
#elif IS_NV12
    const float u = BEHIND(n, (y * width + x) * 2), v = BEHIND(n, (y * width + x) * 2 + 1);
#else
    const float u = BEHIND(n, y * width + x), v = BEHIND(n, (height + y) * width + x);
#endif
    for (int i = 0; i < 4; ++i) {
        const int row = y * 2 + i / 2, column = x * 2 + i % 2;
        STORE_PIXEL(INPUT0_LOAD(luma, INPUT0_GET_INDEX(n, row, column, 0)), u, v, n, row, column)
    }
}
