// Loads and stores of every element type, scalar and vectors of 4, 8 and 16.
// LOAD_<type>(p, i) yields the arithmetic type; STORE_<type>(p, i, v) takes it.
// f16 needs no cl_khr_fp16: vload_half and vstore_half are core OpenCL C. bf16 is its raw bits.
// Vector accesses need the alignment of one element only.

#define LOAD_f32(p, i) ((p)[i])
#define LOAD_f16(p, i) vload_half((i), (p))
#define LOAD_bf16(p, i) as_float((uint)(p)[i] << 16)
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
inline ushort clinfer_to_bf16(float v) {
    const uint bits = as_uint(v);
    return isnan(v) ? (ushort)((bits >> 16) | 0x40) : (ushort)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

#define CLINFER_VECTOR_TYPES(n) \
    inline ushort##n clinfer_to_bf16_##n(float##n v) { \
        const uint##n bits = as_uint##n(v); \
        const uint##n rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16; \
        return convert_ushort##n(select(rounded, (bits >> 16) | 0x40, isnan(v))); \
    }
CLINFER_VECTOR_TYPES(4)
CLINFER_VECTOR_TYPES(8)
CLINFER_VECTOR_TYPES(16)
#undef CLINFER_VECTOR_TYPES

#define LOAD4_f32(p, i) vload4(0, (p) + (i))
#define STORE4_f32(p, i, v) vstore4((v), 0, (p) + (i))
#define LOAD4_i32(p, i) vload4(0, (p) + (i))
#define STORE4_i32(p, i, v) vstore4((v), 0, (p) + (i))
#define LOAD4_u32(p, i) vload4(0, (p) + (i))
#define STORE4_u32(p, i, v) vstore4((v), 0, (p) + (i))
#define LOAD4_i64(p, i) vload4(0, (p) + (i))
#define STORE4_i64(p, i, v) vstore4((v), 0, (p) + (i))
#define LOAD4_u64(p, i) vload4(0, (p) + (i))
#define STORE4_u64(p, i, v) vstore4((v), 0, (p) + (i))
#define LOAD4_f64(p, i) vload4(0, (p) + (i))
#define STORE4_f64(p, i, v) vstore4((v), 0, (p) + (i))
#define LOAD4_i16(p, i) convert_int4(vload4(0, (p) + (i)))
#define STORE4_i16(p, i, v) vstore4(convert_short4(v), 0, (p) + (i))
#define LOAD4_i8(p, i) convert_int4(vload4(0, (p) + (i)))
#define STORE4_i8(p, i, v) vstore4(convert_char4(v), 0, (p) + (i))
#define LOAD4_u16(p, i) convert_int4(vload4(0, (p) + (i)))
#define STORE4_u16(p, i, v) vstore4(convert_ushort4(v), 0, (p) + (i))
#define LOAD4_u8(p, i) convert_int4(vload4(0, (p) + (i)))
#define STORE4_u8(p, i, v) vstore4(convert_uchar4(v), 0, (p) + (i))
#define LOAD4_boolean(p, i) (-(convert_int4(vload4(0, (p) + (i))) != 0))
#define STORE4_boolean(p, i, v) vstore4(convert_uchar4(-((v) != 0)), 0, (p) + (i))
#define LOAD4_f16(p, i) vload_half4(0, (p) + (i))
#define STORE4_f16(p, i, v) vstore_half4_rte((v), 0, (p) + (i))
#define LOAD4_bf16(p, i) as_float4(convert_uint4(vload4(0, (p) + (i))) << 16)
#define STORE4_bf16(p, i, v) vstore4(clinfer_to_bf16_4(v), 0, (p) + (i))

#define LOAD8_f32(p, i) vload8(0, (p) + (i))
#define STORE8_f32(p, i, v) vstore8((v), 0, (p) + (i))
#define LOAD8_i32(p, i) vload8(0, (p) + (i))
#define STORE8_i32(p, i, v) vstore8((v), 0, (p) + (i))
#define LOAD8_u32(p, i) vload8(0, (p) + (i))
#define STORE8_u32(p, i, v) vstore8((v), 0, (p) + (i))
#define LOAD8_i64(p, i) vload8(0, (p) + (i))
#define STORE8_i64(p, i, v) vstore8((v), 0, (p) + (i))
#define LOAD8_u64(p, i) vload8(0, (p) + (i))
#define STORE8_u64(p, i, v) vstore8((v), 0, (p) + (i))
#define LOAD8_f64(p, i) vload8(0, (p) + (i))
#define STORE8_f64(p, i, v) vstore8((v), 0, (p) + (i))
#define LOAD8_i16(p, i) convert_int8(vload8(0, (p) + (i)))
#define STORE8_i16(p, i, v) vstore8(convert_short8(v), 0, (p) + (i))
#define LOAD8_i8(p, i) convert_int8(vload8(0, (p) + (i)))
#define STORE8_i8(p, i, v) vstore8(convert_char8(v), 0, (p) + (i))
#define LOAD8_u16(p, i) convert_int8(vload8(0, (p) + (i)))
#define STORE8_u16(p, i, v) vstore8(convert_ushort8(v), 0, (p) + (i))
#define LOAD8_u8(p, i) convert_int8(vload8(0, (p) + (i)))
#define STORE8_u8(p, i, v) vstore8(convert_uchar8(v), 0, (p) + (i))
#define LOAD8_boolean(p, i) (-(convert_int8(vload8(0, (p) + (i))) != 0))
#define STORE8_boolean(p, i, v) vstore8(convert_uchar8(-((v) != 0)), 0, (p) + (i))
#define LOAD8_f16(p, i) vload_half8(0, (p) + (i))
#define STORE8_f16(p, i, v) vstore_half8_rte((v), 0, (p) + (i))
#define LOAD8_bf16(p, i) as_float8(convert_uint8(vload8(0, (p) + (i))) << 16)
#define STORE8_bf16(p, i, v) vstore8(clinfer_to_bf16_8(v), 0, (p) + (i))

// Of 4-bit types there is only this one, from an even index on.
#define LOAD16_u4(p, i) clinfer_nibbles16(vload8(0, (p) + ((i) >> 1)))
#define LOAD16_i4(p, i) ((LOAD16_u4(p, i) ^ 8) - 8)
inline int16 clinfer_nibbles16(uchar8 v) {
    const int16 both = convert_int16(v.s0011223344556677);
    return (both >> (int16)(0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4)) & 15;
}

#define LOAD16_f32(p, i) vload16(0, (p) + (i))
#define STORE16_f32(p, i, v) vstore16((v), 0, (p) + (i))
#define LOAD16_i32(p, i) vload16(0, (p) + (i))
#define STORE16_i32(p, i, v) vstore16((v), 0, (p) + (i))
#define LOAD16_u32(p, i) vload16(0, (p) + (i))
#define STORE16_u32(p, i, v) vstore16((v), 0, (p) + (i))
#define LOAD16_i64(p, i) vload16(0, (p) + (i))
#define STORE16_i64(p, i, v) vstore16((v), 0, (p) + (i))
#define LOAD16_u64(p, i) vload16(0, (p) + (i))
#define STORE16_u64(p, i, v) vstore16((v), 0, (p) + (i))
#define LOAD16_f64(p, i) vload16(0, (p) + (i))
#define STORE16_f64(p, i, v) vstore16((v), 0, (p) + (i))
#define LOAD16_i16(p, i) convert_int16(vload16(0, (p) + (i)))
#define STORE16_i16(p, i, v) vstore16(convert_short16(v), 0, (p) + (i))
#define LOAD16_i8(p, i) convert_int16(vload16(0, (p) + (i)))
#define STORE16_i8(p, i, v) vstore16(convert_char16(v), 0, (p) + (i))
#define LOAD16_u16(p, i) convert_int16(vload16(0, (p) + (i)))
#define STORE16_u16(p, i, v) vstore16(convert_ushort16(v), 0, (p) + (i))
#define LOAD16_u8(p, i) convert_int16(vload16(0, (p) + (i)))
#define STORE16_u8(p, i, v) vstore16(convert_uchar16(v), 0, (p) + (i))
#define LOAD16_boolean(p, i) (-(convert_int16(vload16(0, (p) + (i))) != 0))
#define STORE16_boolean(p, i, v) vstore16(convert_uchar16(-((v) != 0)), 0, (p) + (i))
#define LOAD16_f16(p, i) vload_half16(0, (p) + (i))
#define STORE16_f16(p, i, v) vstore_half16_rte((v), 0, (p) + (i))
#define LOAD16_bf16(p, i) as_float16(convert_uint16(vload16(0, (p) + (i))) << 16)
#define STORE16_bf16(p, i, v) vstore16(clinfer_to_bf16_16(v), 0, (p) + (i))

