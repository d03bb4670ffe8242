// The right side of a product as kernels multiply it; it may be compressed (COMPRESSED; weights.py): whole numbers
// with a scale, and perhaps a zero point, for each column and each group of consecutive k: both are [groups, N].
//   WEIGHTS_PARAMETERS       what a kernel takes for them, behind the right side itself
//   RIGHT(value, k, column)  the element that was loaded as `value`
//   GROUP_END(k)             the first k of the next group
//   START_GROUP(k, column)   declares what RIGHT16 needs, for the VECTORS * 16 columns from `column` on
//   RIGHT16(values, j)       the j-th 16 of these, loaded as `values`
#ifndef COMPRESSED
#define COMPRESSED 0
#define HAS_ZERO_POINT 0
#endif

#if COMPRESSED

#if HAS_ZERO_POINT
#define WEIGHTS_PARAMETERS const global SCALE_TYPE* restrict scale, const global ZERO_POINT_TYPE* restrict zero_point,
#define ZERO_POINT(group, column) (float)ZERO_POINT_LOAD(zero_point, ZERO_POINT_GET_INDEX(group, column))
#define ZERO_POINT16(group, column) \
    convert_float16(ZERO_POINT_LOAD16(zero_point, ZERO_POINT_GET_INDEX(group, column)))
#else
#define WEIGHTS_PARAMETERS const global SCALE_TYPE* restrict scale,
#define ZERO_POINT(group, column) 0.0f
#define ZERO_POINT16(group, column) ((float16)0.0f)
#endif

#define GROUP_OF(k) ((k) / (INPUT0_SIZE_X / SCALE_SIZE_0))
#define GROUP_END(k) ((GROUP_OF(k) + 1) * (INPUT0_SIZE_X / SCALE_SIZE_0))
#define RIGHT(value, k, column) \
    (((float)(value) - ZERO_POINT(GROUP_OF(k), column)) * SCALE_LOAD(scale, SCALE_GET_INDEX(GROUP_OF(k), column)))
#define START_GROUP(k, column) \
    float16 scales[VECTORS], shifts[VECTORS]; \
    _Pragma("unroll") \
    for (int j = 0; j < VECTORS; ++j) { \
        scales[j] = SCALE_LOAD16(scale, SCALE_GET_INDEX(GROUP_OF(k), (column) + j * 16)); \
        shifts[j] = -ZERO_POINT16(GROUP_OF(k), (column) + j * 16) * scales[j]; \
    }
#define RIGHT16(values, j) fma(convert_float16(values), scales[j], shifts[j])

#else

#define WEIGHTS_PARAMETERS
#define GROUP_END(k) ((int)INPUT0_SIZE_X)
#define RIGHT(value, k, column) (value)
#define START_GROUP(k, column)
#define RIGHT16(values, j) (values)

#endif
