// One picture [1, h, w, 3] in RGB (IS_BGR: BGR) from planes that are images: brightness in one of one channel, then
// (PLANES 2) U and V in one of two channels or (3) in one each. Texels are u8, as whole numbers or scaled to 0..1.
// IS_WHOLE: results are whole numbers. One work-item computes a square of two by two pixels, which share U and V.
#include "clinfer.cl"

#ifndef PLANES
#define PLANES 3
#define IS_BGR 0
#define IS_WHOLE 1
#endif

#include "yuv.h"
#include "pixel.h"

#if PLANES == 2
#define COLOR_PLANES read_only image2d_t colors,
#else
#define COLOR_PLANES read_only image2d_t u_plane, read_only image2d_t v_plane,
#endif

float2 FUNC(texel)(read_only image2d_t image, int x, int y) {
    const int2 at = (int2)(x, y);
    return get_image_channel_data_type(image) == CLK_UNSIGNED_INT8 ? convert_float2(read_imageui(image, at).xy)
                                                                   : rint(read_imagef(image, at).xy * 255);
}

KERNEL(color_convert_images)(read_only image2d_t luma, COLOR_PLANES global OUTPUT0_TYPE* restrict output ARGS) {
    const int width = OUTPUT0_SIZE_2 / 2, height = OUTPUT0_SIZE_1 / 2;
    const int item = get_global_id(0);
    if (item >= height * width) return;
    const int x = item % width, y = item / width;
#if PLANES == 2
    const float2 color = FUNC(texel)(colors, x, y);
#else
    const float2 color = (float2)(FUNC(texel)(u_plane, x, y).x, FUNC(texel)(v_plane, x, y).x);
#endif
    for (int i = 0; i < 4; ++i) {
        const int row = y * 2 + i / 2, column = x * 2 + i % 2;
        STORE_PIXEL(FUNC(texel)(luma, column, row).x, color.x, color.y, 0, row, column)
    }
}
