// Probes: tiny kernels that show what a device really does. One section is built at a time, by -DPROBE_<NAME>;
// without any, it is the one that every device must run.
// Each is called `probe`, reads 64 integers `in` (probe_bench.INPUT repeated: 3, 5, -7, 11, two packed words, 2, 40)
// and writes up to 64 integers `out`; the host compares. Inputs come from memory so that nothing folds away.

#if defined(PROBE_FP16)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void probe(global const int* in, global int* out) {
    half a = (half)in[0], b = (half)in[1], c = (half)in[2];
    half4 v = (half4)(a, b, c, a) * b - a;
    out[0] = (int)(a * b + c);
    out[1] = (int)((a / (half)in[6]) * (half)in[7]);
    out[2] = (int)v.z;
    out[3] = b > a && c < a;
}

#elif defined(PROBE_FP16_BUILTINS)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void probe(global const int* in, global int* out) {
    half a = (half)in[0], b = (half)in[1], c = (half)in[2];
    out[0] = (int)fma(a, b, c);
    out[1] = (int)fmax(a, b) + (int)fabs(c);
    out[2] = (int)(sqrt((half)(in[0] * in[0])) + (half)0.5f);
    out[3] = (int)(exp((half)(in[0] - 3)) + tanh((half)(in[6] - 2)) + (half)0.25f);
    out[4] = convert_int4_rte(clamp((half4)(a, b, c, a), (half4)0, (half4)4)).y;
}

#elif defined(PROBE_FP64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void probe(global const int* in, global int* out) {
    double a = in[0], b = 1.0 / (1 << 30);
    out[0] = (a + b) - a == b;
    out[1] = (int)(sqrt(a * a) * in[1]);
}

#elif defined(PROBE_STRUCT_ARGUMENT)
typedef struct {
    int a;
    float b;
    long c;
    short d[2];
    int e[18];
} Params;
kernel void probe(global const int* in, global int* out, Params params) {
    out[0] = params.a;
    out[1] = (int)params.b;
    out[2] = (int)params.c;
    out[3] = params.d[1];
    out[4] = params.e[17] + in[0];
}

#elif defined(PROBE_BUILTIN_PREFETCH)
kernel void probe(global const int* in, global int* out) {
    __builtin_prefetch((const global void*)(in + 4), 0, 3);
    out[0] = in[0] + in[1];
}

#elif defined(PROBE_BYTE_PRODUCTS)
kernel void probe(global const int* in, global int* out) {
    __asm__ volatile("vpxord %%zmm30, %%zmm30, %%zmm30\n"
                     "vmovdqu64 (%[in]), %%zmm31\n"
                     "vpdpbusd %%zmm31, %%zmm31, %%zmm30\n"
                     "vmovdqu64 %%zmm30, (%[out])\n" : : [in] "r"(in), [out] "r"(out) : "memory");
}

#elif defined(PROBE_INTEGER_DOT_PRODUCT)
kernel void probe(global const int* in, global int* out) {
    char4 a = as_char4(in[4]), b = as_char4(in[5]);
    uchar4 c = as_uchar4(in[4]);
    out[0] = dot(a, b);
    out[1] = dot_acc_sat(c, b, in[0]);
}

#elif defined(PROBE_INT64_ATOMICS)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
kernel void probe(global const int* in, volatile global int* out) {
    volatile global long* total = (volatile global long*)out;
    if (get_local_id(0) == 0)
        total[0] = (long)in[0] << 32;
    barrier(CLK_GLOBAL_MEM_FENCE);
    atom_add(total, ((long)1 << 32) + in[1]);
}

#elif defined(PROBE_LOCAL_MEMORY)
#ifndef COUNT
#define COUNT 1024
#endif
kernel void probe(global const int* in, global int* out) {
    local int big[COUNT];
    int item = get_local_id(0);
    for (int i = item; i < COUNT; i += 16)
        big[i] = i * in[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    int wrong = 0;
    for (int i = 15 - item; i < COUNT; i += 16)
        wrong += big[i] != i * 3;
    out[item] = wrong;
}

#elif defined(PROBE_BF16_PRODUCTS)
// 16 sums of products of two pairs, among vectors that a compiler may hold in the registers which the assembly uses and
// leaves as they were; out[0] counts wrong sums, out[1] vectors that changed.
kernel void probe(global const int* in, global int* out) {
    const float16 lanes = (float16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    float16 held[12];
    for (int i = 0; i < 12; ++i) held[i] = (float16)(in[0] * i) + lanes;
    uint left[16], right[16];
    float sums[16], kept[48];
    for (int i = 0; i < 16; ++i) {
        // bf16 is the upper half of a float.
        left[i] = as_uint((float)in[0]) >> 16 | (as_uint((float)(i + in[1])) & 0xFFFF0000);
        right[i] = as_uint((float)(i - in[1])) >> 16 | (as_uint((float)in[2]) & 0xFFFF0000);
        sums[i] = in[3] * i;
    }
    __asm__ volatile("vmovups %%zmm0, (%[kept])\n vmovups %%zmm1, 64(%[kept])\n vmovups %%zmm31, 128(%[kept])\n"
                     "vmovups (%[sums]), %%zmm0\n vmovups (%[left]), %%zmm1\n vmovups (%[right]), %%zmm31\n"
                     "vdpbf16ps %%zmm1, %%zmm31, %%zmm0\n vmovups %%zmm0, (%[sums])\n"
                     "vmovups (%[kept]), %%zmm0\n vmovups 64(%[kept]), %%zmm1\n vmovups 128(%[kept]), %%zmm31\n"
                     :: [kept] "r"(kept), [sums] "r"(sums), [left] "r"(left), [right] "r"(right) : "memory");
    out[0] = out[1] = 0;
    for (int i = 0; i < 16; ++i)
        out[0] += sums[i] != (float)(in[3] * i + in[0] * (i - in[1]) + (i + in[1]) * in[2]);
    for (int i = 0; i < 12; ++i) out[1] += any(held[i] != (float16)(in[0] * i) + lanes);
}

#elif defined(PROBE_FLOAT_PRODUCTS) || defined(PROBE_SHORT_PRODUCTS)
// Eight sums of a product of floats, or of two of 16 bits, one side of which was bytes, among vectors that a compiler
// may hold in the registers which the assembly uses and leaves as they were; out[0] counts wrong sums, out[1] vectors
// that changed.
#ifdef PROBE_FLOAT_PRODUCTS
#define NUMBER float
#define RIGHT in[1]
#define SUM(i) (in[3] * i + left[i] * in[1])
#define ADD "vmovups (%[left]), %%ymm1\n vfmadd231ps %%ymm1, %%ymm15, %%ymm0\n"
#else
#define NUMBER int
#define RIGHT (in[7] | in[2] << 16)
#define SUM(i) (in[3] * i + ((char*)left)[2 * i] * in[7] + ((char*)left)[2 * i + 1] * in[2])
#define ADD "vpmovsxbw (%[left]), %%ymm1\n vpmaddwd %%ymm15, %%ymm1, %%ymm1\n vpaddd %%ymm1, %%ymm0, %%ymm0\n"
#endif
kernel void probe(global const int* in, global int* out) {
    const float8 lanes = (float8)(0, 1, 2, 3, 4, 5, 6, 7);
    float8 held[12], kept[3];
    for (int i = 0; i < 12; ++i) held[i] = (float8)(in[0] * i) + lanes;
    NUMBER left[8], right = RIGHT, sums[8];
    for (int i = 0; i < 8; ++i) left[i] = in[0] * i - in[7], sums[i] = in[3] * i;
    __asm__ volatile("vmovups %%ymm0, (%[kept])\n vmovups %%ymm1, 32(%[kept])\n vmovups %%ymm15, 64(%[kept])\n"
                     "vmovups (%[sums]), %%ymm0\n vpbroadcastd (%[right]), %%ymm15\n" ADD "vmovups %%ymm0, (%[sums])\n"
                     "vmovups (%[kept]), %%ymm0\n vmovups 32(%[kept]), %%ymm1\n vmovups 64(%[kept]), %%ymm15\n"
                     :: [kept] "r"(kept), [sums] "r"(sums), [left] "r"(left), [right] "r"(&right) : "memory");
    out[0] = out[1] = 0;
    for (int i = 0; i < 8; ++i) out[0] += sums[i] != SUM(i);
    for (int i = 0; i < 12; ++i) out[1] += any(held[i] != (float8)(in[0] * i) + lanes);
}

#elif defined(PROBE_TILE_REGISTERS)
// out[0] counts wrong sums of 16 x 16: rows of eight bytes, by twos as four bf16 or as unsigned bytes; columns as two
// rows of 16 pairs of bf16, or of 16 times four signed bytes.
#define PROBE_TILES(instruction, left, right, sums) \
    __asm__ volatile("ldtilecfg (%[shapes])\n tileloadd (%[given],%[row]), %%tmm0\n" \
                     "tileloadd (%[rows],%[eight]), %%tmm1\n tileloadd (%[columns],%[row]), %%tmm2\n" \
                     instruction " %%tmm2, %%tmm1, %%tmm0\n tilestored %%tmm0, (%[given],%[row])\n tilerelease\n" \
                     :: [shapes] "r"(shapes), [given] "r"(sums), [rows] "r"(left), [columns] "r"(right), \
                        [row] "r"(64L), [eight] "r"(8L) : "memory")
kernel void probe(global const int* in, global int* out) {
    ulong shapes[8] = {1, 0, 0x004000080040, 0, 0, 0, 0x021010, 0};
    ushort left[16 * 4], right[2 * 16 * 2];
    uchar bytes[16 * 8];
    char signed_bytes[2 * 16 * 4];
    float sums[16 * 16];
    int whole[16 * 16];
    for (int i = 0; i < 64; ++i) {
        // bf16 is the upper half of a float.
        left[i] = as_uint((float)(i / 4 * in[0] - i % 4)) >> 16;
        right[i] = as_uint((float)(i % 32 / 2 + in[1] * (i / 32 * 2 + i % 2))) >> 16;
    }
    for (int i = 0; i < 128; ++i) {
        bytes[i] = 240 + i / 8 - in[0] * (i % 8);
        signed_bytes[i] = in[1] * (i / 64 * 4 + i % 4) - 8 * (i % 64 / 4);
    }
    for (int i = 0; i < 256; ++i) sums[i] = whole[i] = in[3] * i;
    PROBE_TILES("tdpbf16ps", left, right, sums);
    PROBE_TILES("tdpbusd", bytes, signed_bytes, whole);
    out[0] = 0;
    for (int i = 0; i < 256; ++i) {
        float expected = in[3] * i;
        for (int k = 0; k < 4; ++k) expected += (i / 16 * in[0] - k) * (i % 16 + in[1] * k);
        int expected_whole = in[3] * i;
        for (int k = 0; k < 8; ++k) expected_whole += (240 + i / 16 - in[0] * k) * (in[1] * k - 8 * (i % 16));
        out[0] += sums[i] != expected || whole[i] != expected_whole;
    }
}

#elif defined(PROBE_IMAGE)
kernel void probe(read_only image2d_t in, global int* out) {
    int2 at = (int2)(get_global_id(0) % 2, get_global_id(0) / 2);
    bool whole = get_image_channel_data_type(in) == CLK_UNSIGNED_INT8;
    int2 texel = whole ? convert_int2(read_imageui(in, at).xy) : convert_int2_rte(read_imagef(in, at).xy * 255);
    out[get_global_id(0)] = texel.x + 1000 * texel.y;
}

// Ceilings: how much a device does in a nanosecond. Every work-item takes `turns` turns; vectors have WIDTH lanes, and
// CHAINS multiply-adds do not wait for one another.
#elif defined(PROBE_RATES) || defined(PROBE_HALF_RATE)
#define JOINED(type, width) type##width
#define VECTOR(type, width) JOINED(type, width)
#ifdef PROBE_HALF_RATE
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half Number;
typedef VECTOR(half, WIDTH) Numbers;
#else
typedef float Number;
typedef VECTOR(float, WIDTH) Numbers;
#endif
typedef VECTOR(uint, WIDTH) Words;

kernel void multiply_add(global const int* in, global Numbers* out, int turns) {
    Numbers sums[CHAINS], scale = (Numbers)((Number)1 / (Number)in[0]), offset = (Numbers)((Number)in[1]);
    #pragma unroll
    for (int i = 0; i < CHAINS; ++i) sums[i] = (Numbers)((Number)(in[2] + i));
    for (int turn = 0; turn < turns; ++turn)
        #pragma unroll
        for (int i = 0; i < CHAINS; ++i) sums[i] = sums[i] * scale + offset;
    for (int i = 1; i < CHAINS; ++i) sums[0] += sums[i];
    out[get_global_id(0)] = sums[0];
}

#ifdef PROBE_RATES
// In a turn a group reads one of `parts` parts of `length` words, and in the next one that which is `shift` behind it.
kernel void sum_words(global const Words* in, global Words* out, int turns, int length, int parts, int shift) {
    Words sums[4] = {(Words)0, (Words)0, (Words)0, (Words)0};
    int items = get_local_size(0);
    for (int turn = 0; turn < turns; ++turn) {
        int part = (get_group_id(0) + turn * shift) % parts;
        global const Words* words = in + (size_t)part * length + get_local_id(0);
        for (int at = 0; at < length; at += 4 * items)
            #pragma unroll
            for (int i = 0; i < 4; ++i) sums[i] += words[at + i * items];
    }
    out[get_global_id(0)] = sums[0] + sums[1] + sums[2] + sums[3];
}

kernel void touch(global int* out) {
    out[get_global_id(0)] += 1;
}
#endif

#elif defined(PROBE_TENSOR_RATE)
// A warp multiplies [16, 16] by [16, 8] in each of CHAINS chains, halves with float sums.
kernel void multiply_add(global const int* in, global float4* out, int turns) {
    float sums[CHAINS][4];
    #pragma unroll
    for (int i = 0; i < CHAINS; ++i) sums[i][0] = sums[i][1] = sums[i][2] = sums[i][3] = in[2] + i;
    uint a = in[0], b = in[1];
    for (int turn = 0; turn < turns; ++turn)
        #pragma unroll
        for (int i = 0; i < CHAINS; ++i)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, "
                         "{%4, %5}, {%0, %1, %2, %3};"
                         : "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3]) : "r"(a), "r"(b));
    float4 total = (float4)(0);
    #pragma unroll
    for (int i = 0; i < CHAINS; ++i) total += (float4)(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    out[get_global_id(0)] = total;
}

#elif defined(PROBE_PAIR_RATE)
// 14 chains of vdpbf16ps in zmm0 to zmm13, which are left as they were: as many as hide a latency of 6 or 7.
kernel void multiply_add(global const int* in, global float16* out, int turns) {
    float kept[15 * 16], sums[16];
    uint pairs[16];
    for (int i = 0; i < 16; ++i) pairs[i] = as_uint((float)in[6]) | as_uint((float)in[6]) >> 16;
#define EACH_REGISTER(DO) \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13)
#define KEEP(n) "vmovups %%zmm" #n ", 64*" #n "(%[kept])\n"
#define CLEAR(n) "vpxord %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n"
#define MULTIPLY(n) "vdpbf16ps %%zmm14, %%zmm14, %%zmm" #n "\n"
#define GIVE_BACK(n) "vmovups 64*" #n "(%[kept]), %%zmm" #n "\n"
    __asm__ volatile(EACH_REGISTER(KEEP) KEEP(14) EACH_REGISTER(CLEAR) "vmovups (%[pairs]), %%zmm14\n"
                     "0:\n" EACH_REGISTER(MULTIPLY) "dec %[turns]\n jnz 0b\n vmovups %%zmm0, (%[sums])\n"
                     EACH_REGISTER(GIVE_BACK) GIVE_BACK(14)
                     : [turns] "+r"(turns) : [kept] "r"(kept), [pairs] "r"(pairs), [sums] "r"(sums) : "memory");
    out[get_global_id(0)] = vload16(0, sums);
}

#elif defined(PROBE_TILE_RATE)
// 4 chains of tdpbf16ps; all tiles have 16 rows of 64 bytes.
kernel void multiply_add(global const int* in, global float16* out, int turns) {
    ulong shapes[8] = {1, 0, 0x0040004000400040, 0x0040004000400040, 0, 0, 0x1010101010101010, 0};
    ushort values[16 * 32];
    float sums[16 * 16];
    for (int i = 0; i < 16 * 32; ++i) values[i] = as_uint((float)in[6]) >> 16;
#define MULTIPLY(n) "tdpbf16ps %%tmm5, %%tmm4, %%tmm" #n "\n"
    __asm__ volatile("ldtilecfg (%[shapes])\n tileloadd (%[values],%[row]), %%tmm4\n"
                     "tileloadd (%[values],%[row]), %%tmm5\n tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n"
                     "tilezero %%tmm3\n 0:\n" MULTIPLY(0) MULTIPLY(1) MULTIPLY(2) MULTIPLY(3) "dec %[turns]\n jnz 0b\n"
                     "tilestored %%tmm0, (%[sums],%[row])\n tilerelease\n"
                     : [turns] "+r"(turns)
                     : [shapes] "r"(shapes), [values] "r"(values), [sums] "r"(sums), [row] "r"(64L) : "memory");
    out[get_global_id(0)] = vload16(0, sums);
}

#elif defined(PROBE_USM)
kernel void probe(global int* shared) {
    shared[1] = shared[0] + 1;
}

#elif defined(PROBE_SUBGROUPS) || defined(PROBE_KHR_SHUFFLE) || defined(PROBE_INTEL_SHUFFLE) || \
    defined(PROBE_INTEL_BLOCK_READ)
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#ifdef cl_khr_subgroup_shuffle
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#endif
#ifdef cl_intel_subgroups
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif
#ifdef REQUIRED_SIZE
__attribute__((intel_reqd_sub_group_size(REQUIRED_SIZE)))
#endif
kernel void probe(global const int* in, global int* out) {
    int lane = get_sub_group_local_id(), size = get_sub_group_size();
    int right = 0;
#if defined(PROBE_SUBGROUPS)
    right = sub_group_reduce_add(lane) == size * (size - 1) / 2 && sub_group_broadcast(lane, 1) == 1;
#elif defined(PROBE_KHR_SHUFFLE)
    right = sub_group_shuffle(lane * 3, 2) == 6;
#elif defined(PROBE_INTEL_SHUFFLE)
    right = intel_sub_group_shuffle(lane * 3, 2u) == 6;
#elif defined(PROBE_INTEL_BLOCK_READ)
    right = (int)intel_sub_group_block_read((const global uint*)in) == in[lane];
#endif
    out[get_global_id(0)] = right ? size : 0;
}

#else
kernel void probe(global const int* in, global int* out) {
    out[0] = in[0] * in[1];
    out[1] = in[2] >> 1;
}
#endif
