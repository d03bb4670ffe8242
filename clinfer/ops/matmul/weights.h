// The right side of a product as kernels multiply it; it may be compressed (COMPRESSED; problem.py): whole numbers
// with a scale, and perhaps a zero point, for each column and each group of GROUP_SIZE consecutive k (0: of all k);
// both are [groups, N]. With a CODEBOOK the whole numbers, of 4 bits, are places in it.
//   WEIGHTS_PARAMETERS       what a kernel takes for them, behind the right side itself; PASS_WEIGHTS hands it on
//   RIGHT(value, k, column)  the element that was loaded as `value`
//   STORED16(values)         sixteen numbers that were loaded as these, as float16, without scales and zero points
// For kernels whose right side is packed in panels of 32 columns:
//   GROUP_END(k)             the first k of the next group
//   START_GROUP(k, column)   declares what LOAD_COLUMNS needs, for the panel that starts at `column`
//   LOAD_COLUMNS(to, place)  the 32 elements of a panel and one k from index `place` on, as float16 to[2]; of 4 bits,
//                            those of even columns come first; of weights that are not compressed to[VECTORS]
//   LOAD_STORED(to, place)   what is stored of the same elements, without scales, as float16 to[2]; for compressed
//                            weights, as the next one
//   FINISH_GROUP(totals, sums, values)   adds to float16 totals[2] what a group's scales and zero points make of sums
//                            of products of such with values whose sum is `values`; START_GROUP comes before
//   ROW_PART(row, j)         16 consecutive columns of such 32, once they are in memory: the j-th of two
#ifndef COMPRESSED
#define COMPRESSED 0
#define HAS_ZERO_POINT 0
#define HAS_CODEBOOK 0
#define GROUP_SIZE 0
#define SHARED_BYTES 0
#define LOWEST 0
#endif

#if SHARED_BYTES
#define ROW_PART(row, j) FUNC(interleave)(vload8(j, row), vload8((j) + 2, row))
INLINED float16 FUNC(interleave)(const float8 a, const float8 b) {
    return (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7);
}
#else
#define ROW_PART(row, j) vload16(j, row)
#endif

#if COMPRESSED

#if HAS_CODEBOOK
constant float FUNC(codebook)[16] = CODEBOOK;
#define STORED(value) FUNC(codebook)[value]
#define STORED16(values) shuffle(vload16(0, FUNC(codebook)), convert_uint16(values))
#else
#define STORED(value) ((float)(value))
#define STORED16(values) convert_float16(values)
#endif

#if HAS_ZERO_POINT
#define WEIGHTS_PARAMETERS const global SCALE_TYPE* restrict scale, const global ZERO_POINT_TYPE* restrict zero_point,
#define PASS_WEIGHTS scale, zero_point,
#define ZERO_POINT(group, column) (float)ZERO_POINT_LOAD(zero_point, ZERO_POINT_GET_INDEX(group, column))
#define ZERO_POINT16(group, column) \
    convert_float16(ZERO_POINT_LOAD16(zero_point, ZERO_POINT_GET_INDEX(group, column)))
#else
#define WEIGHTS_PARAMETERS const global SCALE_TYPE* restrict scale,
#define PASS_WEIGHTS scale,
#define ZERO_POINT(group, column) 0.0f
#define ZERO_POINT16(group, column) ((float16)0.0f)
#endif

#if GROUP_SIZE
#define GROUP_OF(k) ((k) / GROUP_SIZE)
#define GROUP_END(k) ((GROUP_OF(k) + 1) * GROUP_SIZE)
#else
#define GROUP_OF(k) 0
#define GROUP_END(k) ((int)INPUT0_SIZE_X)
#endif
#define RIGHT(value, k, column) \
    ((STORED(value) - ZERO_POINT(GROUP_OF(k), column)) * SCALE_LOAD(scale, SCALE_GET_INDEX(GROUP_OF(k), column)))

#define SCALE16(k, column) SCALE_LOAD16(scale, SCALE_GET_INDEX(GROUP_OF(k), column))
#if SHARED_BYTES
// Of 4 bits, the number stored as 0 is LOWEST; flipping the high bit counts from there.
#define START_GROUP(k, column) \
    float16 scales[2], shifts[2]; \
    { \
        const float16 first = SCALE16(k, column), second = SCALE16(k, (column) + 16); \
        const float16 zero = ZERO_POINT16(GROUP_OF(k), column), other = ZERO_POINT16(GROUP_OF(k), (column) + 16); \
        scales[0] = (float16)(first.even, second.even); \
        scales[1] = (float16)(first.odd, second.odd); \
        shifts[0] = (LOWEST - (float16)(zero.even, other.even)) * scales[0]; \
        shifts[1] = (LOWEST - (float16)(zero.odd, other.odd)) * scales[1]; \
    }
#define LOAD_COLUMNS(to, place) \
    do { \
        const uchar16 both = vload16(0, right + ((place) >> 1)) ^ (uchar16)(LOWEST ? 0x88 : 0); \
        (to)[0] = fma(STORED16(both & (uchar16)15), scales[0], shifts[0]); \
        (to)[1] = fma(STORED16(both >> (uchar16)4), scales[1], shifts[1]); \
    } while (0)
#if HAS_CODEBOOK
#define LOAD_STORED(to, place) \
    do { \
        const uchar16 both = vload16(0, right + ((place) >> 1)); \
        (to)[0] = STORED16(both & (uchar16)15); \
        (to)[1] = STORED16(both >> (uchar16)4); \
    } while (0)
#define SECOND_SUM(sums) ((sums)[1])
#else
// The second sum is of whole bytes: the numbers in the high bits count sixteenfold, and those in the low bits once.
#define LOAD_STORED(to, place) \
    do { \
        const int16 both = convert_int16(vload16(0, right + ((place) >> 1)) ^ (uchar16)(LOWEST ? 0x88 : 0)); \
        (to)[0] = convert_float16(both & 15); \
        (to)[1] = convert_float16(both); \
    } while (0)
#define SECOND_SUM(sums) (((sums)[1] - (sums)[0]) * 0.0625f)
#endif
#else
#define START_GROUP(k, column) \
    const float16 scales[2] = {SCALE16(k, column), SCALE16(k, (column) + 16)}; \
    const float16 shifts[2] = {-ZERO_POINT16(GROUP_OF(k), column) * scales[0], \
                               -ZERO_POINT16(GROUP_OF(k), (column) + 16) * scales[1]};
#define LOAD_COLUMNS(to, place) \
    do { \
        (to)[0] = fma(convert_float16(INPUT1_LOAD16(right, place)), scales[0], shifts[0]); \
        (to)[1] = fma(convert_float16(INPUT1_LOAD16(right, (place) + 16)), scales[1], shifts[1]); \
    } while (0)
#define LOAD_STORED(to, place) \
    do { \
        (to)[0] = convert_float16(INPUT1_LOAD16(right, place)); \
        (to)[1] = convert_float16(INPUT1_LOAD16(right, (place) + 16)); \
    } while (0)
#define SECOND_SUM(sums) ((sums)[1])
#endif
#define FINISH_GROUP(totals, sums, values) \
    do { \
        (totals)[0] += fma((sums)[0], scales[0], (values) * shifts[0]); \
        (totals)[1] += fma(SECOND_SUM(sums), scales[1], (values) * shifts[1]); \
    } while (0)

#else

#define WEIGHTS_PARAMETERS
#define PASS_WEIGHTS
#define RIGHT(value, k, column) (value)
#define GROUP_END(k) ((int)INPUT0_SIZE_X)
#define START_GROUP(k, column)
#define LOAD_COLUMNS(to, place) \
    do { \
        _Pragma("unroll") \
        for (int j_ = 0; j_ < VECTORS; ++j_) (to)[j_] = INPUT1_LOAD16(right, (place) + j_ * 16); \
    } while (0)

#endif
