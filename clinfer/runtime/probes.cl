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

#elif defined(PROBE_TENSOR_CORES)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// One warp multiplies [16, 16] by [16, 8], halves with float sums; counts what is wrong.
kernel void probe(global const int* in, global int* out) {
    local half a[16 * 16] __attribute__((aligned(16))), b[8 * 16] __attribute__((aligned(16)));
    local int copied[64] __attribute__((aligned(16)));
    int lane = get_local_id(0);
    for (int i = lane; i < 256; i += 32) a[i] = (half)((i * 7 + in[0]) % 13);
    for (int i = lane; i < 128; i += 32) b[i] = (half)((i * 5 + in[1]) % 11);
    if (lane < 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"((uint)(ulong)(copied + lane * 4)), "l"((ulong)(in + lane * 4)), "r"(lane ? 16 : 8)
                     : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    uint x[4], y[4];
    float sum[4] = {0, 0, 0, 0};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"((uint)(ulong)(a + lane % 16 * 16 + lane / 16 * 8)) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                 : "r"((uint)(ulong)(b + lane % 8 * 16 + lane / 8 % 2 * 8)) : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};" : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    int wrong = 0;
    for (int n = 0; n < 4; ++n) {
        int row = lane / 4 + n / 2 * 8, column = lane % 4 * 2 + n % 2, right = 0;
        for (int k = 0; k < 16; ++k)
            right += (((row * 16 + k) * 7 + in[0]) % 13) * (((column * 16 + k) * 5 + in[1]) % 11);
        wrong += sum[n] != (float)right;
    }
    for (int i = lane; i < 64; i += 32) wrong += copied[i] != (i == 2 || i == 3 ? 0 : in[i]);
    out[lane] = wrong;
}

#elif defined(PROBE_WARP_GROUP_PRODUCTS)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// Four warps multiply [64, 64] by [64, 8], halves with float sums; out[0] counts what is wrong, out[1] the work-items.
// Rows of 64 halves, in which chunks of 8 are exchanged: the instructions' swizzle of 128 bytes.
int left_of(int row, int k, global const int* in) { return (row * 64 + k) * 7 % 13 - in[0]; }
int right_of(int column, int k, global const int* in) { return (column * 64 + k) * 5 % 11 - in[1]; }
kernel __attribute__((reqd_work_group_size(128, 1, 1))) void probe(global const int* in, global int* out) {
    local half left[64 * 64] __attribute__((aligned(1024))), right[8 * 64] __attribute__((aligned(1024)));
    local int wrong, items;
    int item = get_local_id(0), lane = item % 32;
    for (int n = item; n < 64 * 64; n += 128)
        left[n / 64 * 64 + (n % 64 / 8 ^ n / 64 % 8) * 8 + n % 8] = (half)left_of(n / 64, n % 64, in);
    for (int n = item; n < 8 * 64; n += 128)
        right[n / 64 * 64 + (n % 64 / 8 ^ n / 64 % 8) * 8 + n % 8] = (half)right_of(n / 64, n % 64, in);
    if (item == 0) wrong = items = 0;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum[4] = {0, 0, 0, 0};
    ulong form = 1UL << 62 | (ulong)64 << 32 | 1UL << 16;
    ulong a = form | ((uint)(ulong)left & 0x3FFFF) >> 4, b = form | ((uint)(ulong)right & 0x3FFFF) >> 4;
    asm volatile("//@@ wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < 64; k += 16)
        asm volatile("//@@ wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n"
                     "//@@ wgmma.commit_group.sync.aligned;\n//@@ wgmma.wait_group.sync.aligned 0;"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "l"(a + k / 8), "l"(b + k / 8)
                     : "memory");
    for (int n = 0; n < 4; ++n) {
        int row = item / 32 * 16 + lane / 4 + n / 2 * 8, column = lane % 4 * 2 + n % 2, expected = 0;
        for (int k = 0; k < 64; ++k) expected += left_of(row, k, in) * right_of(column, k, in);
        if (sum[n] != (float)expected) atomic_inc(&wrong);
    }
    atomic_inc(&items);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        out[0] = wrong;
        out[1] = items;
    }
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
