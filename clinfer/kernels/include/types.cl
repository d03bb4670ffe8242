// Loads and stores of every element type, scalar and vectors of 4, 8 and 16.
// LOAD_<type>(p, i) yields the arithmetic type; STORE_<type>(p, i, v) takes it.
// f16 needs no cl_khr_fp16: vload_half and vstore_half are core OpenCL C. bf16 and f8 are their raw bits.
// Vector accesses need the alignment of one element only.

#define LOAD_f32(p, i) ((p)[i])
#define LOAD_f16(p, i) vload_half((i), (p))
#define LOAD_bf16(p, i) as_float((uint)(p)[i] << 16)
#define LOAD_f8e4m3(p, i) clinfer_of_f8e4m3((p)[i])
#define LOAD_f8e5m2(p, i) clinfer_of_f8e5m2((p)[i])
#define LOAD_i32(p, i) ((p)[i])
#define LOAD_i16(p, i) ((int)(p)[i])
#define LOAD_i8(p, i) ((int)(p)[i])
#define LOAD_u32(p, i) ((p)[i])
#define LOAD_u16(p, i) ((int)(p)[i])
#define LOAD_u8(p, i) ((int)(p)[i])
#define LOAD_i64(p, i) ((p)[i])
#define LOAD_u64(p, i) ((p)[i])
#define LOAD_f64(p, i) ((p)[i])
#define LOAD_boolean(p, i) ((int)((p)[i] != 0))
#define LOAD_u4(p, i) ((int)(((p)[(i) >> 1] >> (((i) & 1) * 4)) & 15))
#define LOAD_i4(p, i) (((LOAD_u4(p, i)) ^ 8) - 8)

#define STORE_f32(p, i, v) ((p)[i] = (v))
#define STORE_f16(p, i, v) vstore_half_rte((v), (i), (p))
#define STORE_bf16(p, i, v) ((p)[i] = clinfer_to_bf16(v))
#define STORE_f8e4m3(p, i, v) ((p)[i] = clinfer_to_f8e4m3(v))
#define STORE_f8e5m2(p, i, v) ((p)[i] = clinfer_to_f8e5m2(v))
#define STORE_i32(p, i, v) ((p)[i] = (v))
#define STORE_i16(p, i, v) ((p)[i] = (short)(v))
#define STORE_i8(p, i, v) ((p)[i] = (char)(v))
#define STORE_u32(p, i, v) ((p)[i] = (v))
#define STORE_u16(p, i, v) ((p)[i] = (ushort)(v))
#define STORE_u8(p, i, v) ((p)[i] = (uchar)(v))
#define STORE_i64(p, i, v) ((p)[i] = (v))
#define STORE_u64(p, i, v) ((p)[i] = (v))
#define STORE_f64(p, i, v) ((p)[i] = (v))
#define STORE_boolean(p, i, v) ((p)[i] = (uchar)((v) != 0))

// Rounds to nearest even; NaN stays NaN.
static inline ushort clinfer_to_bf16(float v) {
    const uint bits = as_uint(v);
    return isnan(v) ? (ushort)((bits >> 16) | 0x40) : (ushort)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

#define CLINFER_VECTOR_TYPES(n) \
    static inline ushort##n clinfer_to_bf16_##n(float##n v) { \
        const uint##n bits = as_uint##n(v); \
        const uint##n rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16; \
        return convert_ushort##n(select(rounded, (bits >> 16) | 0x40, isnan(v))); \
    }
CLINFER_VECTOR_TYPES(4)
CLINFER_VECTOR_TYPES(8)
CLINFER_VECTOR_TYPES(16)
#undef CLINFER_VECTOR_TYPES

// Floats of 8 bits: E4M3, which has no infinity, and E5M2, the upper half of f16. To them rounds to nearest even; what
// is too large becomes NaN or infinity. Subnormal numbers are computed, because devices may take those of f32 for 0.
#define CLINFER_FLOAT8(suffix, ucharn, uintn, floatn, as_uintn, as_floatn, convert_uintn, convert_ucharn, \
                       convert_floatn) \
    static inline floatn clinfer_of_f8e4m3##suffix(ucharn v) { \
        const uintn bits = convert_uintn(v), size = bits & 0x7F; \
        const floatn value = select(as_floatn((size << 20) + (120u << 23)), convert_floatn(size) * 0x1p-9f, \
                                    (size < 8)); \
        return as_floatn(select(as_uintn(value), (uintn)0x7FC00000, (size == 0x7F)) | (bits & 0x80) << 24); \
    } \
    static inline floatn clinfer_of_f8e5m2##suffix(ucharn v) { \
        const uintn bits = convert_uintn(v), size = bits & 0x7F; \
        const uintn beyond = select((uintn)0x7F800000, (uintn)0x7FC00000, (size > 0x7C)); \
        const floatn value = select(as_floatn((size << 21) + (112u << 23)), convert_floatn(size) * 0x1p-16f, \
                                    (size < 4)); \
        return as_floatn(select(as_uintn(value), beyond, (size >= 0x7C)) | (bits & 0x80) << 24); \
    } \
    static inline ucharn clinfer_to_f8e4m3##suffix(floatn v) { \
        const uintn bits = as_uintn(v), size = bits & 0x7FFFFFFF; \
        const uintn normal = ((size + 0x7FFFF + ((size >> 20) & 1)) >> 20) - (120u << 3); \
        const uintn code = select(normal, convert_uintn(rint(fabs(v) * 0x1p9f)), (size < 0x3C800000)); \
        return convert_ucharn(select(code, (uintn)0x7F, (code > 0x7E)) | ((bits >> 24) & 0x80)); \
    } \
    static inline ucharn clinfer_to_f8e5m2##suffix(floatn v) { \
        const uintn bits = as_uintn(v), size = bits & 0x7FFFFFFF; \
        const uintn normal = ((size + 0xFFFFF + ((size >> 21) & 1)) >> 21) - (112u << 2); \
        const uintn code = select(normal, convert_uintn(rint(fabs(v) * 0x1p16f)), (size < 0x38800000)); \
        const uintn finite = select(code, (uintn)0x7C, (code > 0x7C)); \
        return convert_ucharn(select(finite, (uintn)0x7E, (size > 0x7F800000)) | ((bits >> 24) & 0x80)); \
    }
CLINFER_FLOAT8(, uchar, uint, float, as_uint, as_float, convert_uint, convert_uchar, convert_float)
#define CLINFER_FLOAT8_VECTOR(n) \
    CLINFER_FLOAT8(_##n, uchar##n, uint##n, float##n, as_uint##n, as_float##n, convert_uint##n, convert_uchar##n, \
                   convert_float##n)
CLINFER_FLOAT8_VECTOR(4)
CLINFER_FLOAT8_VECTOR(8)
CLINFER_FLOAT8_VECTOR(16)
#undef CLINFER_FLOAT8_VECTOR
#undef CLINFER_FLOAT8

// ROUNDED(type, T, v): v, a float or a vector T of floats, as it is after it was stored as a narrower float.
#define ROUNDED(type, T, v) CLINFER_CAT(CLINFER_ROUNDED_##type, T)(v)
#define CLINFER_ROUNDED(floatn, suffix, half_suffix, ushortn, convert_uintn, as_floatn) \
    static inline floatn CLINFER_ROUNDED_f16_##floatn(floatn v) { \
        ushortn bits; \
        vstore_half##half_suffix##_rte(v, 0, (half*)&bits); \
        return vload_half##half_suffix(0, (const half*)&bits); \
    } \
    static inline floatn CLINFER_ROUNDED_bf16_##floatn(floatn v) { \
        return as_floatn(convert_uintn(clinfer_to_bf16##suffix(v)) << 16); \
    } \
    static inline floatn CLINFER_ROUNDED_f8e4m3_##floatn(floatn v) { \
        return clinfer_of_f8e4m3##suffix(clinfer_to_f8e4m3##suffix(v)); \
    } \
    static inline floatn CLINFER_ROUNDED_f8e5m2_##floatn(floatn v) { \
        return clinfer_of_f8e5m2##suffix(clinfer_to_f8e5m2##suffix(v)); \
    }
CLINFER_ROUNDED(float, , , ushort, convert_uint, as_float)
CLINFER_ROUNDED(float4, _4, 4, ushort4, convert_uint4, as_float4)
CLINFER_ROUNDED(float8, _8, 8, ushort8, convert_uint8, as_float8)
CLINFER_ROUNDED(float16, _16, 16, ushort16, convert_uint16, as_float16)
#undef CLINFER_ROUNDED

// The nearest whole numbers of 0 to 255, NaN takes 0. What rounds is adding a float whose last bit counts as 1: that of
// convert_uchar16_sat_rte is a call of a function with some compilers.
#define CLINFER_TO_BYTES(n) \
    static inline uchar##n clinfer_to_bytes##n(float##n v) { \
        const float##n positive = select((float##n)0.0f, v, v > 0.0f); \
        const float##n clipped = select((float##n)255.0f, positive, positive < 255.0f); \
        return convert_uchar##n(as_uint##n(clipped + 0x1.8p23f)); \
    }
CLINFER_TO_BYTES(4)
CLINFER_TO_BYTES(8)
CLINFER_TO_BYTES(16)
#undef CLINFER_TO_BYTES

// Floats held as whole numbers of 8 bits: (number - zero point) * step. What lies outside takes the nearest number, NaN
// takes 0.
#define LOAD_q8(p, i, step, zero) (((float)(p)[i] - (zero)) * (step))
#define STORE_q8(p, i, v, per_step, zero) ((p)[i] = convert_uchar_sat_rte(fma((v), (per_step), (zero))))
#define LOAD4_q8(p, i, step, zero) ((convert_float4(READ4((p) + (i))) - (zero)) * (step))
#define STORE4_q8(p, i, v, per_step, zero) \
    WRITE4(clinfer_to_bytes4(fma((v), (float4)(per_step), (float4)(zero))), (p) + (i))
#define LOAD8_q8(p, i, step, zero) ((convert_float8(READ8((p) + (i))) - (zero)) * (step))
#define STORE8_q8(p, i, v, per_step, zero) \
    WRITE8(clinfer_to_bytes8(fma((v), (float8)(per_step), (float8)(zero))), (p) + (i))
#define LOAD16_q8(p, i, step, zero) ((convert_float16(READ16((p) + (i))) - (zero)) * (step))
#define STORE16_q8(p, i, v, per_step, zero) \
    WRITE16(clinfer_to_bytes16(fma((v), (float16)(per_step), (float16)(zero))), (p) + (i))

#define LOAD4_f32(p, i) READ4((p) + (i))
#define STORE4_f32(p, i, v) WRITE4((v), (p) + (i))
#define LOAD4_i32(p, i) READ4((p) + (i))
#define STORE4_i32(p, i, v) WRITE4((v), (p) + (i))
#define LOAD4_u32(p, i) READ4((p) + (i))
#define STORE4_u32(p, i, v) WRITE4((v), (p) + (i))
#define LOAD4_i64(p, i) READ4((p) + (i))
#define STORE4_i64(p, i, v) WRITE4((v), (p) + (i))
#define LOAD4_u64(p, i) READ4((p) + (i))
#define STORE4_u64(p, i, v) WRITE4((v), (p) + (i))
#define LOAD4_f64(p, i) READ4((p) + (i))
#define STORE4_f64(p, i, v) WRITE4((v), (p) + (i))
#define LOAD4_i16(p, i) convert_int4(READ4((p) + (i)))
#define STORE4_i16(p, i, v) WRITE4(convert_short4(v), (p) + (i))
#define LOAD4_i8(p, i) convert_int4(READ4((p) + (i)))
#define STORE4_i8(p, i, v) WRITE4(convert_char4(v), (p) + (i))
#define LOAD4_u16(p, i) convert_int4(READ4((p) + (i)))
#define STORE4_u16(p, i, v) WRITE4(convert_ushort4(v), (p) + (i))
#define LOAD4_u8(p, i) convert_int4(READ4((p) + (i)))
#define STORE4_u8(p, i, v) WRITE4(convert_uchar4(v), (p) + (i))
#define LOAD4_boolean(p, i) (-(convert_int4(READ4((p) + (i))) != 0))
#define STORE4_boolean(p, i, v) WRITE4(convert_uchar4(-((v) != 0)), (p) + (i))
#define LOAD4_f16(p, i) READ_HALF4((p) + (i))
#define STORE4_f16(p, i, v) WRITE_HALF4((v), (p) + (i))
#define LOAD4_bf16(p, i) as_float4(convert_uint4(READ4((p) + (i))) << 16)
#define STORE4_bf16(p, i, v) WRITE4(clinfer_to_bf16_4(v), (p) + (i))
#define LOAD4_f8e4m3(p, i) clinfer_of_f8e4m3_4(READ4((p) + (i)))
#define STORE4_f8e4m3(p, i, v) WRITE4(clinfer_to_f8e4m3_4(v), (p) + (i))
#define LOAD4_f8e5m2(p, i) clinfer_of_f8e5m2_4(READ4((p) + (i)))
#define STORE4_f8e5m2(p, i, v) WRITE4(clinfer_to_f8e5m2_4(v), (p) + (i))

#define LOAD8_f32(p, i) READ8((p) + (i))
#define STORE8_f32(p, i, v) WRITE8((v), (p) + (i))
#define LOAD8_i32(p, i) READ8((p) + (i))
#define STORE8_i32(p, i, v) WRITE8((v), (p) + (i))
#define LOAD8_u32(p, i) READ8((p) + (i))
#define STORE8_u32(p, i, v) WRITE8((v), (p) + (i))
#define LOAD8_i64(p, i) READ8((p) + (i))
#define STORE8_i64(p, i, v) WRITE8((v), (p) + (i))
#define LOAD8_u64(p, i) READ8((p) + (i))
#define STORE8_u64(p, i, v) WRITE8((v), (p) + (i))
#define LOAD8_f64(p, i) READ8((p) + (i))
#define STORE8_f64(p, i, v) WRITE8((v), (p) + (i))
#define LOAD8_i16(p, i) convert_int8(READ8((p) + (i)))
#define STORE8_i16(p, i, v) WRITE8(convert_short8(v), (p) + (i))
#define LOAD8_i8(p, i) convert_int8(READ8((p) + (i)))
#define STORE8_i8(p, i, v) WRITE8(convert_char8(v), (p) + (i))
#define LOAD8_u16(p, i) convert_int8(READ8((p) + (i)))
#define STORE8_u16(p, i, v) WRITE8(convert_ushort8(v), (p) + (i))
#define LOAD8_u8(p, i) convert_int8(READ8((p) + (i)))
#define STORE8_u8(p, i, v) WRITE8(convert_uchar8(v), (p) + (i))
#define LOAD8_boolean(p, i) (-(convert_int8(READ8((p) + (i))) != 0))
#define STORE8_boolean(p, i, v) WRITE8(convert_uchar8(-((v) != 0)), (p) + (i))
#define LOAD8_f16(p, i) READ_HALF8((p) + (i))
#define STORE8_f16(p, i, v) WRITE_HALF8((v), (p) + (i))
#define LOAD8_bf16(p, i) as_float8(convert_uint8(READ8((p) + (i))) << 16)
#define STORE8_bf16(p, i, v) WRITE8(clinfer_to_bf16_8(v), (p) + (i))
#define LOAD8_f8e4m3(p, i) clinfer_of_f8e4m3_8(READ8((p) + (i)))
#define STORE8_f8e4m3(p, i, v) WRITE8(clinfer_to_f8e4m3_8(v), (p) + (i))
#define LOAD8_f8e5m2(p, i) clinfer_of_f8e5m2_8(READ8((p) + (i)))
#define STORE8_f8e5m2(p, i, v) WRITE8(clinfer_to_f8e5m2_8(v), (p) + (i))

// Of 4-bit types there is only this one, from an even index on.
#define LOAD16_u4(p, i) clinfer_nibbles16(READ8((p) + ((i) >> 1)))
#define LOAD16_i4(p, i) ((LOAD16_u4(p, i) ^ 8) - 8)
static inline int16 clinfer_nibbles16(uchar8 v) {
    const int16 both = convert_int16(v.s0011223344556677);
    return (both >> (int16)(0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4)) & 15;
}

#define LOAD16_f32(p, i) READ16((p) + (i))
#define STORE16_f32(p, i, v) WRITE16((v), (p) + (i))
#define LOAD16_i32(p, i) READ16((p) + (i))
#define STORE16_i32(p, i, v) WRITE16((v), (p) + (i))
#define LOAD16_u32(p, i) READ16((p) + (i))
#define STORE16_u32(p, i, v) WRITE16((v), (p) + (i))
#define LOAD16_i64(p, i) READ16((p) + (i))
#define STORE16_i64(p, i, v) WRITE16((v), (p) + (i))
#define LOAD16_u64(p, i) READ16((p) + (i))
#define STORE16_u64(p, i, v) WRITE16((v), (p) + (i))
#define LOAD16_f64(p, i) READ16((p) + (i))
#define STORE16_f64(p, i, v) WRITE16((v), (p) + (i))
#define LOAD16_i16(p, i) convert_int16(READ16((p) + (i)))
#define STORE16_i16(p, i, v) WRITE16(convert_short16(v), (p) + (i))
#define LOAD16_i8(p, i) convert_int16(READ16((p) + (i)))
#define STORE16_i8(p, i, v) WRITE16(convert_char16(v), (p) + (i))
#define LOAD16_u16(p, i) convert_int16(READ16((p) + (i)))
#define STORE16_u16(p, i, v) WRITE16(convert_ushort16(v), (p) + (i))
#define LOAD16_u8(p, i) convert_int16(READ16((p) + (i)))
#define STORE16_u8(p, i, v) WRITE16(convert_uchar16(v), (p) + (i))
#define LOAD16_boolean(p, i) (-(convert_int16(READ16((p) + (i))) != 0))
#define STORE16_boolean(p, i, v) WRITE16(convert_uchar16(-((v) != 0)), (p) + (i))
#define LOAD16_f16(p, i) READ_HALF16((p) + (i))
#define STORE16_f16(p, i, v) WRITE_HALF16((v), (p) + (i))
#define LOAD16_bf16(p, i) as_float16(convert_uint16(READ16((p) + (i))) << 16)
#define STORE16_bf16(p, i, v) WRITE16(clinfer_to_bf16_16(v), (p) + (i))
#define LOAD16_f8e4m3(p, i) clinfer_of_f8e4m3_16(READ16((p) + (i)))
#define STORE16_f8e4m3(p, i, v) WRITE16(clinfer_to_f8e4m3_16(v), (p) + (i))
#define LOAD16_f8e5m2(p, i) clinfer_of_f8e5m2_16(READ16((p) + (i)))
#define STORE16_f8e5m2(p, i, v) WRITE16(clinfer_to_f8e5m2_16(v), (p) + (i))

