// Names that every kernel uses: its entry point, its private functions, small integer helpers.

#define CLINFER_CAT_(a, b) a##_##b
#define CLINFER_CAT(a, b) CLINFER_CAT_(a, b)

// The entry point of a kernel; the name in the source is for the reader, KERNEL_ID is unique.
#define KERNEL(name) kernel void KERNEL_ID

// A helper function of one kernel; kernels of a batch share one name space.
#define FUNC(name) CLINFER_CAT(name, KERNEL_ID)

// In front of a helper that must become part of its kernel: one that works on arrays which are registers there.
#define INLINED static inline __attribute__((always_inline))

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

// Coordinates of up to eight axes.
#define MAX_RANK 8

// exp(x) and 1 / x, in the fewest instructions that the device has for floats; within 1e-6, relative to 1 and to 1 / x.
#ifdef __NV_CL_C_VERSION
#define CLINFER_QUICK(T, exp_of_x, one_over_x) \
    CLINFER_OVERLOADED T clinfer_quick_exp(const T x) { return exp_of_x; } \
    CLINFER_OVERLOADED T clinfer_quick_reciprocal(const T x) { return one_over_x; }
#define CLINFER_FLOATS(T) CLINFER_QUICK(T, native_exp2(x * (T)1.44269504f), native_recip(x))
#define CLINFER_DOUBLES(T) CLINFER_QUICK(T, exp(x), (T)1 / x)
CLINFER_FLOATS(float) CLINFER_FLOATS(float2) CLINFER_FLOATS(float4) CLINFER_FLOATS(float8) CLINFER_FLOATS(float16)
CLINFER_DOUBLES(double) CLINFER_DOUBLES(double2) CLINFER_DOUBLES(double4) CLINFER_DOUBLES(double8)
CLINFER_DOUBLES(double16)
#define QUICK_EXP(x) clinfer_quick_exp(x)
#define QUICK_RECIPROCAL(x) clinfer_quick_reciprocal(x)
#else
#define QUICK_EXP(x) exp(x)
#define QUICK_RECIPROCAL(x) (1.0f / (x))
#endif
