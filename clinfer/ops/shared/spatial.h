// Whether a coordinate lies on an axis of so many elements: a negative one is a large number without a sign.
#define UNSIGNED_OF_(type) u##type
#define UNSIGNED_(type) UNSIGNED_OF_(type)
#define IS_ON_AXIS(c, size) ((UNSIGNED_(index_t))(c) < (UNSIGNED_(index_t))(size))

// Default arguments of kernels over the spatial axes z, y, x (spatial.py), for a file that is compiled alone.
#ifndef ARG_STRIDE_X
#define ARG_STRIDE_Z 1
#define ARG_STRIDE_Y 1
#define ARG_STRIDE_X 1
#define ARG_DILATION_Z 1
#define ARG_DILATION_Y 1
#define ARG_DILATION_X 1
#define ARG_PAD_Z 0
#define ARG_PAD_Y 0
#define ARG_PAD_X 0
#define INPUT0_SIZE_Z 1
#define INPUT0_PITCH_Z 0
#define INPUT1_SIZE_Z 1
#define INPUT1_PITCH_Z 0
#define OUTPUT0_SIZE_Z 1
#endif
