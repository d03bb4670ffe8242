// Vectors in memory that need the alignment of one element only: READ4(p), WRITE4(v, p), 8 and 16 likewise; of halves,
// as floats, READ_HALF4(p) and WRITE_HALF4(v, p).
// NVIDIA's devices take several elements at once only where they start at a multiple of their size, and the compiler,
// which cannot know, takes them one by one. With CLINFER_WIDE_IF_ALIGNED, kernels look where they start; with
// CLINFER_ALL_ALIGNED, of a program's recipe, all vectors start at such a multiple.
#ifdef __NV_CL_C_VERSION
#define CLINFER_WIDE_IF_ALIGNED 1
#endif

#if CLINFER_WIDE_IF_ALIGNED
#if CLINFER_ALL_ALIGNED
#define CLINFER_IS_OFF(p, bytes) 0
#else
#define CLINFER_IS_OFF(p, bytes) ((ulong)(p) % (bytes))
#endif
#define CLINFER_OVERLOADED static inline __attribute__((overloadable))
#define CLINFER_AT(space, T, n, p, i) (*(space T##n*)((p) + (i)))

// Vectors of n elements as 1, 2, 4 or 8 pieces of `bytes` bytes.
#define CLINFER_ONE(space, T, n, bytes) \
    CLINFER_OVERLOADED T##n clinfer_read##n(const space T* p) { \
        return CLINFER_IS_OFF(p, bytes) ? vload##n(0, p) : CLINFER_AT(const space, T, n, p, 0); \
    } \
    CLINFER_OVERLOADED void clinfer_write##n(const T##n v, space T* p) { \
        if (CLINFER_IS_OFF(p, bytes)) vstore##n(v, 0, p); \
        else CLINFER_AT(space, T, n, p, 0) = v; \
    }
#define CLINFER_TWO(space, T, n, half_n, bytes) \
    CLINFER_OVERLOADED T##n clinfer_read##n(const space T* p) { \
        if (CLINFER_IS_OFF(p, bytes)) return vload##n(0, p); \
        return (T##n)(CLINFER_AT(const space, T, half_n, p, 0), CLINFER_AT(const space, T, half_n, p, half_n)); \
    } \
    CLINFER_OVERLOADED void clinfer_write##n(const T##n v, space T* p) { \
        if (CLINFER_IS_OFF(p, bytes)) { \
            vstore##n(v, 0, p); \
        } else { \
            CLINFER_AT(space, T, half_n, p, 0) = v.lo; \
            CLINFER_AT(space, T, half_n, p, half_n) = v.hi; \
        } \
    }
// Of more pieces, from vectors half as long.
#define CLINFER_MORE(space, T, n, half_n, bytes) \
    CLINFER_OVERLOADED T##n clinfer_read##n(const space T* p) { \
        return CLINFER_IS_OFF(p, bytes) ? vload##n(0, p) \
                                        : (T##n)(clinfer_read##half_n(p), clinfer_read##half_n(p + half_n)); \
    } \
    CLINFER_OVERLOADED void clinfer_write##n(const T##n v, space T* p) { \
        clinfer_write##half_n(v.lo, p); \
        clinfer_write##half_n(v.hi, p + half_n); \
    }
#define CLINFER_BYTES(space, T) \
    CLINFER_ONE(space, T, 4, 4) CLINFER_ONE(space, T, 8, 8) CLINFER_ONE(space, T, 16, 16)
#define CLINFER_SHORTS(space, T) \
    CLINFER_ONE(space, T, 4, 8) CLINFER_ONE(space, T, 8, 16) CLINFER_TWO(space, T, 16, 8, 16)
#define CLINFER_WORDS(space, T) \
    CLINFER_ONE(space, T, 4, 16) CLINFER_TWO(space, T, 8, 4, 16) CLINFER_MORE(space, T, 16, 8, 16)
#define CLINFER_LONGS(space, T) \
    CLINFER_TWO(space, T, 4, 2, 16) CLINFER_MORE(space, T, 8, 4, 16) CLINFER_MORE(space, T, 16, 8, 16)

// Two halves in a word, as floats and back; the driver's own conversions of vectors read and write one by one.
#ifdef __NV_CL_C_VERSION
static inline float2 clinfer_unpack_halves(const uint packed) {
    float2 v;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
        : "=f"(v.x), "=f"(v.y) : "r"(packed));
    return v;
}
static inline uint clinfer_pack_halves(const float2 v) {
    uint packed;
    asm("{.reg .b16 low, high; cvt.rn.f16.f32 low, %1; cvt.rn.f16.f32 high, %2; mov.b32 %0, {low, high};}"
        : "=r"(packed) : "f"(v.x), "f"(v.y));
    return packed;
}
#else
static inline float2 clinfer_unpack_halves(const uint packed) { return vload_half2(0, (const half*)&packed); }
static inline uint clinfer_pack_halves(const float2 v) {
    uint packed;
    vstore_half2_rte(v, 0, (half*)&packed);
    return packed;
}
#endif
#define CLINFER_UNPACK_4(p) (float4)(clinfer_unpack_halves((p).x), clinfer_unpack_halves((p).y))
#define CLINFER_UNPACK_8(p) (float8)(CLINFER_UNPACK_4((p).lo), CLINFER_UNPACK_4((p).hi))
#define CLINFER_PACK_4(v) (uint2)(clinfer_pack_halves((v).lo), clinfer_pack_halves((v).hi))
#define CLINFER_PACK_8(v) (uint4)(CLINFER_PACK_4((v).lo), CLINFER_PACK_4((v).hi))
#define CLINFER_HALVES(space) \
    CLINFER_OVERLOADED float4 clinfer_read_half4(const space half* p) { \
        if (CLINFER_IS_OFF(p, 8)) return vload_half4(0, p); \
        const uint2 packed = *(const space uint2*)p; \
        return CLINFER_UNPACK_4(packed); \
    } \
    CLINFER_OVERLOADED float8 clinfer_read_half8(const space half* p) { \
        if (CLINFER_IS_OFF(p, 16)) return vload_half8(0, p); \
        const uint4 packed = *(const space uint4*)p; \
        return CLINFER_UNPACK_8(packed); \
    } \
    CLINFER_OVERLOADED float16 clinfer_read_half16(const space half* p) { \
        return CLINFER_IS_OFF(p, 16) ? vload_half16(0, p) : (float16)(clinfer_read_half8(p), clinfer_read_half8(p + 8)); \
    } \
    CLINFER_OVERLOADED void clinfer_write_half4(const float4 v, space half* p) { \
        if (CLINFER_IS_OFF(p, 8)) vstore_half4_rte(v, 0, p); \
        else *(space uint2*)p = CLINFER_PACK_4(v); \
    } \
    CLINFER_OVERLOADED void clinfer_write_half8(const float8 v, space half* p) { \
        if (CLINFER_IS_OFF(p, 16)) vstore_half8_rte(v, 0, p); \
        else *(space uint4*)p = CLINFER_PACK_8(v); \
    } \
    CLINFER_OVERLOADED void clinfer_write_half16(const float16 v, space half* p) { \
        clinfer_write_half8(v.lo, p); \
        clinfer_write_half8(v.hi, p + 8); \
    }
#define CLINFER_SPACE(space) \
    CLINFER_BYTES(space, char) CLINFER_BYTES(space, uchar) CLINFER_SHORTS(space, short) CLINFER_SHORTS(space, ushort) \
    CLINFER_WORDS(space, int) CLINFER_WORDS(space, uint) CLINFER_WORDS(space, float) \
    CLINFER_LONGS(space, long) CLINFER_LONGS(space, ulong) CLINFER_HALVES(space)
CLINFER_SPACE(global)
CLINFER_SPACE(local)
#ifdef cl_khr_fp64
CLINFER_LONGS(global, double)
CLINFER_LONGS(local, double)
#endif

#define READ4(p) clinfer_read4(p)
#define READ8(p) clinfer_read8(p)
#define READ16(p) clinfer_read16(p)
#define WRITE4(v, p) clinfer_write4(v, p)
#define WRITE8(v, p) clinfer_write8(v, p)
#define WRITE16(v, p) clinfer_write16(v, p)
#define READ_HALF4(p) clinfer_read_half4(p)
#define READ_HALF8(p) clinfer_read_half8(p)
#define READ_HALF16(p) clinfer_read_half16(p)
#define WRITE_HALF4(v, p) clinfer_write_half4(v, p)
#define WRITE_HALF8(v, p) clinfer_write_half8(v, p)
#define WRITE_HALF16(v, p) clinfer_write_half16(v, p)
#else
#define READ4(p) vload4(0, p)
#define READ8(p) vload8(0, p)
#define READ16(p) vload16(0, p)
#define WRITE4(v, p) vstore4(v, 0, p)
#define WRITE8(v, p) vstore8(v, 0, p)
#define WRITE16(v, p) vstore16(v, 0, p)
#define READ_HALF4(p) vload_half4(0, p)
#define READ_HALF8(p) vload_half8(0, p)
#define READ_HALF16(p) vload_half16(0, p)
#define WRITE_HALF4(v, p) vstore_half4_rte(v, 0, p)
#define WRITE_HALF8(v, p) vstore_half8_rte(v, 0, p)
#define WRITE_HALF16(v, p) vstore_half16_rte(v, 0, p)
#endif
