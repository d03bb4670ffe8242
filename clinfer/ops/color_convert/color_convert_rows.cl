// Pictures [n, h, w, 3] in RGB (IS_BGR: BGR) from dense planes of u8 or floats, at least 16 pixels wide, with either
// (PLANAR) the pixels of a channel or the channels of a pixel beside each other. PLANES and IS_NV12 as in
// color_convert_ref.cl. IS_WHOLE: results are whole numbers. OUTPUT0 and what fused operations read are seen as [n,
// h, 3, w]; without PLANAR the latter stands still along w.
// One work-item computes two rows, 16 columns at a time; the last 16 may begin among those before.
#include "clinfer.cl"

#ifndef PLANES
#define PLANES 3
#define IS_NV12 0
#define IS_BGR 0
#define IS_WHOLE 1
#define PLANAR 1
#endif

#define PIXELS float16
#include "yuv.h"

#if PLANES == 1
#define COLOR_PLANES
#elif PLANES == 2
#define COLOR_PLANES const global INPUT1_TYPE* restrict colors,
#else
#define COLOR_PLANES const global INPUT1_TYPE* restrict u_plane, const global INPUT2_TYPE* restrict v_plane,
#endif

#define TWICE(c) (float16)(c.s0011, c.s2233, c.s4455, c.s6677)
#define BESIDE(plane, T, i) { \
        const float16 both = convert_float16(T##_LOAD16(plane, i)); \
        u = TWICE(both.even); \
        v = TWICE(both.odd); \
    }
#define APART(value, plane, T, i) { \
        const float8 half_row = convert_float8(T##_LOAD8(plane, i)); \
        value = TWICE(half_row); \
    }

#if PLANAR
#define STORE_CHANNEL16(values, c) { \
        const int at[] = {n, row, c, x}; \
        OUTPUT0_COMPUTE16 result = TO_OUTPUT(values); \
        FUSED_OPS16(result, at, LAST) \
        OUTPUT0_STORE16(output, OUTPUT0_INDEX_OF(at), result); \
    }
#define STORE_PIXELS { \
        STORE_CHANNEL16(first, 0) \
        STORE_CHANNEL16(green, 1) \
        STORE_CHANNEL16(third, 2) \
    }
#else
#define FUSED_CHANNEL(values, c) { \
        const int at[] = {n, row, c, x}; \
        FUSED_OPS16(values, at, LAST) \
    }
#define STORE_PIXELS { \
        const int to = OUTPUT0_GET_INDEX(n, row, 0, x); \
        OUTPUT0_COMPUTE16 a = TO_OUTPUT(first), b = TO_OUTPUT(green), c = TO_OUTPUT(third); \
        FUSED_CHANNEL(a, 0) \
        FUSED_CHANNEL(b, 1) \
        FUSED_CHANNEL(c, 2) \
        OUTPUT0_STORE16(output, to, ((OUTPUT0_COMPUTE16)(a.s0, b.s0, c.s0, a.s1, b.s1, c.s1, a.s2, b.s2, c.s2, \
                                                         a.s3, b.s3, c.s3, a.s4, b.s4, c.s4, a.s5))); \
        OUTPUT0_STORE16(output, to + 16, ((OUTPUT0_COMPUTE16)(b.s5, c.s5, a.s6, b.s6, c.s6, a.s7, b.s7, c.s7, a.s8, \
                                                              b.s8, c.s8, a.s9, b.s9, c.s9, a.sa, b.sa))); \
        OUTPUT0_STORE16(output, to + 32, ((OUTPUT0_COMPUTE16)(c.sa, a.sb, b.sb, c.sb, a.sc, b.sc, c.sc, a.sd, b.sd, \
                                                              c.sd, a.se, b.se, c.se, a.sf, b.sf, c.sf))); \
    }
#endif

#if OUTPUT0_IS_FLOAT
#define TO_OUTPUT(values) (values)
#else
#define TO_OUTPUT(values) convert_int16(values)
#endif

KERNEL(color_convert_rows)(const global INPUT0_TYPE* restrict luma, COLOR_PLANES
                           global OUTPUT0_TYPE* restrict output ARGS) {
    const int width = OUTPUT0_SIZE_3, height = OUTPUT0_SIZE_1;
    const int n = get_global_id(0) / (height / 2), y = get_global_id(0) % (height / 2);
    const int luma_row = INPUT0_GET_INDEX(n, y * 2, 0, 0);
    for (int start = 0; start < width; start += 16) {
        const int x = min(start, width - 16);
        float16 u, v;
#if PLANES == 3
        APART(u, u_plane, INPUT1, INPUT1_GET_INDEX(n, y, x / 2, 0))
        APART(v, v_plane, INPUT2, INPUT2_GET_INDEX(n, y, x / 2, 0))
#elif PLANES == 2
        BESIDE(colors, INPUT1, INPUT1_GET_INDEX(n, y, x / 2, 0))
#else
        const int behind = INPUT0_GET_INDEX(n, height, 0, 0);
#if IS_NV12
        BESIDE(luma, INPUT0, behind + y * width + x)
#else
        APART(u, luma, INPUT0, behind + (y * width + x) / 2)
        APART(v, luma, INPUT0, behind + (height / 2 * width + y * width + x) / 2)
#endif
#endif
        for (int i = 0; i < 2; ++i) {
            const int row = y * 2 + i;
            const float16 bright = convert_float16(INPUT0_LOAD16(luma, luma_row + i * width + x));
            float16 first, green, third;
            FUNC(convert)(bright, u, v, &first, &green, &third);
            STORE_PIXELS
        }
    }
}
