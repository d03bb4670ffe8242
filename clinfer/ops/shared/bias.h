// The bias of a product, an operand of the primitives that have one (HAS_BIAS; bias.py). Kernels take it as `bias`.
//   BIAS_PARAMETER, PASS_BIAS  its place among the parameters of a function, and among the arguments
//   ADD_BIAS(sum, channel)     adds its element; ADD_BIAS16 the 16 from `channel` on, ADD_BIAS4 the 4
//   BIAS16(channel)            the 16 elements themselves; zeros without a bias
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif

#if HAS_BIAS
#define BIAS_PARAMETER const global BIAS_TYPE* restrict bias,
#define PASS_BIAS bias,
#define ADD_BIAS(sum, channel) (sum += BIAS_LOAD(bias, BIAS_GET_INDEX(channel)))
#define ADD_BIAS16(sum, channel) (sum += BIAS16(channel))
#define ADD_BIAS4(sum, channel) (sum += BIAS_LOAD4(bias, BIAS_OFFSET + (channel)))
#define BIAS16(channel) BIAS_LOAD16(bias, BIAS_OFFSET + (channel))
#else
#define BIAS_PARAMETER
#define PASS_BIAS
#define ADD_BIAS(sum, channel)
#define ADD_BIAS16(sum, channel)
#define ADD_BIAS4(sum, channel)
#define BIAS16(channel) ((float16)0.0f)
#endif
