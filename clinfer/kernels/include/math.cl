// Names that every kernel uses: its entry point, its private functions, small integer helpers.

#define CLINFER_CAT_(a, b) a##_##b
#define CLINFER_CAT(a, b) CLINFER_CAT_(a, b)
#define CLINFER_PASTE_(a, b) a##b
#define CLINFER_PASTE(a, b) CLINFER_PASTE_(a, b)

// The entry point of a kernel; the name in the source is for the reader, KERNEL_ID is unique.
#define KERNEL(name) kernel void KERNEL_ID

// A helper function of one kernel; kernels of a batch share one name space.
#define FUNC(name) CLINFER_CAT(name, KERNEL_ID)

// In front of a helper that must become part of its kernel: one that works on arrays which are registers there.
#define INLINED static inline __attribute__((always_inline))

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

// Coordinates of up to eight axes.
#define MAX_RANK 8

// QUOTIENT(a, b): a / b of floats as IEEE 754 rounds it, for what may be rounded to a whole number then. NVIDIA's own
// division may be off by two units in the last place ("div.full.f32", "Parallel Thread Execution ISA").
// QUICK_...: 2^x, exp(x) and 1 / x, in the fewest instructions that the device has for floats: within 1e-6, relative to
// 1 and to 1 / x, where nothing is denormal.
#ifdef __NV_CL_C_VERSION
#define CLINFER_BY_HALVES(T, name) \
    CLINFER_OVERLOADED T name(const T x) { return (T)(name(x.lo), name(x.hi)); }
#define CLINFER_QUICK(name, instruction) \
    CLINFER_OVERLOADED float name(const float x) { \
        float y; \
        asm(instruction " %0, %1;" : "=f"(y) : "f"(x)); \
        return y; \
    } \
    CLINFER_BY_HALVES(float2, name) CLINFER_BY_HALVES(float4, name) CLINFER_BY_HALVES(float8, name) \
    CLINFER_BY_HALVES(float16, name)
CLINFER_OVERLOADED float clinfer_quotient(const float a, const float b) {
    float y;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}
#define CLINFER_QUOTIENT_BY_HALVES(T) \
    CLINFER_OVERLOADED T clinfer_quotient(const T a, const T b) { \
        return (T)(clinfer_quotient(a.lo, b.lo), clinfer_quotient(a.hi, b.hi)); \
    }
CLINFER_QUOTIENT_BY_HALVES(float2) CLINFER_QUOTIENT_BY_HALVES(float4) CLINFER_QUOTIENT_BY_HALVES(float8)
CLINFER_QUOTIENT_BY_HALVES(float16)
CLINFER_QUICK(clinfer_quick_exp2, "ex2.approx.ftz.f32")
CLINFER_QUICK(clinfer_quick_reciprocal, "rcp.approx.ftz.f32")
#define CLINFER_DOUBLES(T) \
    CLINFER_OVERLOADED T clinfer_quotient(const T a, const T b) { return a / b; } \
    CLINFER_OVERLOADED T clinfer_quick_exp2(const T x) { return exp2(x); } \
    CLINFER_OVERLOADED T clinfer_quick_reciprocal(const T x) { return (T)1 / x; }
CLINFER_DOUBLES(double) CLINFER_DOUBLES(double2) CLINFER_DOUBLES(double4) CLINFER_DOUBLES(double8)
CLINFER_DOUBLES(double16)
#define QUOTIENT(a, b) clinfer_quotient(a, b)
#define QUICK_EXP2(x) clinfer_quick_exp2(x)
#define QUICK_EXP(x) QUICK_EXP2((x) * 1.44269504f)
#define QUICK_RECIPROCAL(x) clinfer_quick_reciprocal(x)
#else
#define QUOTIENT(a, b) ((a) / (b))
#define QUICK_EXP2(x) exp2(x)
#define QUICK_EXP(x) exp(x)
#define QUICK_RECIPROCAL(x) (1.0f / (x))
#endif
