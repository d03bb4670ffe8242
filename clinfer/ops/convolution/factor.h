// The factor of the data's channels, [B or 1, C] and axes of size 1, an operand of the convolutions that have one
// (HAS_FACTOR; geometry.py). Kernels take it as `factor`.
//   FACTOR_PARAMETER, PASS_FACTOR  its place among the parameters of a function, and among the arguments
//   FACTOR_OF(batch, channel)      its element, FACTOR16_OF those of the block of 16 channels from `channel` on.
//                                  Without a factor the first is 1
#ifndef HAS_FACTOR
#define HAS_FACTOR 0
#endif

#if HAS_FACTOR
#define FACTOR_PARAMETER const global FACTOR_TYPE* restrict factor,
#define PASS_FACTOR factor,
#define FACTOR_OF(batch, channel) FACTOR_LOAD(factor, FACTOR_GET_INDEX(batch, channel, 0, 0, 0))
#define FACTOR16_OF(batch, channel) FACTOR_LOAD16(factor, FACTOR_GET_INDEX(batch, channel, 0, 0, 0))
#else
#define FACTOR_PARAMETER
#define PASS_FACTOR
#define FACTOR_OF(batch, channel) 1
#endif
