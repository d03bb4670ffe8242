// Instructions of PTX in OpenCL C, so that kernels for NVIDIA's tensor cores run where there are none: each instruction
// that their assembly names is a macro here, ptx_ and its name, with what it is given in the order of the assembly
// (ptx.py). A warp is 32 consecutive work-items.
// What lanes of a warp exchange goes through global memory, of which every warp has its own, between two barriers: of
// the sub-group with WARPS_ARE_SUB_GROUPS, else of the work-group, all of whose warps must then get there.
// Copies have come when they have been started. A launch has at most MOST_GROUPS groups of at most MOST_WARPS warps.
#define MOST_GROUPS 512
#define MOST_WARPS 8

#undef KERNEL
#if WARPS_ARE_SUB_GROUPS
#define KERNEL(name) __attribute__((intel_reqd_sub_group_size(32))) kernel void KERNEL_ID
#define AWAIT_WARP() sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define KERNEL(name) kernel void KERNEL_ID
#define AWAIT_WARP() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#define LANE ((int)get_local_id(0) % 32)
#define GROUP (get_group_id(1) * get_num_groups(0) + get_group_id(0))

typedef struct {
    float left[16][16], right[16][8];
    uint words[32];
} FUNC(warp);
global FUNC(warp) FUNC(warps)[MOST_GROUPS][MOST_WARPS];
// The local memory of a group, of whose addresses instructions are given the lower 32 bits.
global ulong FUNC(memories)[MOST_GROUPS];
#define OWN_WARP (&FUNC(warps)[GROUP][get_local_id(0) / 32])

INLINED uint FUNC(address_of)(const ulong p) {
    FUNC(memories)[GROUP] = p;
    return (uint)p;
}
INLINED local ushort* FUNC(at_address)(const uint address) {
    const ulong p = FUNC(memories)[GROUP];
    return (local ushort*)(p + (long)(int)(address - (uint)p));
}

// Halves in global memory: where a device computes in none, its compiler of OpenCL C 2.0 need not load and store them.
#undef vload_half
#undef vstore_half_rte
#define vload_half(i, p) FUNC(float_of)(((const global ushort*)(p))[i])
#define vstore_half_rte(v, i, p) (((global ushort*)(p))[i] = FUNC(rounded)(v))
INLINED float FUNC(float_of)(const ushort bits) {
    const float size = as_float((bits & 0x7FFF) << 13) * 0x1p112f;
    return copysign((bits & 0x7C00) == 0x7C00 ? size + INFINITY : size, (float)(short)bits);
}
INLINED ushort FUNC(rounded)(const float value) {
    const uint bits = as_uint(fabs(value) * 0x1p-112f), sign = as_uint(value) >> 16 & 0x8000;
    return sign | min((bits + 0xFFF + (bits >> 13 & 1)) >> 13, 0x7C00u);
}

// Halves of a word, the high one or the low one, as floats and back.
INLINED float FUNC(half_of)(const uint pair, const int high) {
    return FUNC(float_of)(high ? pair >> 16 : pair);
}
INLINED uint FUNC(pair_of)(const float low, const float high) {
    return FUNC(rounded)(low) | (uint)FUNC(rounded)(high) << 16;
}
#define ptx_cvt_rn_f16x2_f32(to, high, low) (to) = FUNC(pair_of)(low, high)
#define clinfer_unpack_halves(pair) (float2)(FUNC(half_of)(pair, 0), FUNC(half_of)(pair, 1))

// Arithmetic of pairs; of results rounded to float next to none is rounded to another half than the exact ones.
#define ptx_sub_rn_f16x2(to, a, b) (to) = FUNC(fma_pairs)(b, 0xBC00BC00, a)
#define ptx_mul_rn_f16x2(to, a, b) (to) = FUNC(fma_pairs)(a, b, 0x80008000)
#define ptx_fma_rn_f16x2(to, a, b, c) (to) = FUNC(fma_pairs)(a, b, c)
#define ptx_neg_f16x2(to, a) (to) = (a) ^ 0x80008000
INLINED uint FUNC(fma_pairs)(const uint a, const uint b, const uint c) {
    float results[2];
    for (int i = 0; i < 2; ++i) results[i] = fma(FUNC(half_of)(a, i), FUNC(half_of)(b, i), FUNC(half_of)(c, i));
    return FUNC(pair_of)(results[0], results[1]);
}

#define ptx_mov_b32(to, from) (to) = (from)
#define ptx_prmt_b32(to, low, high, which) (to) = FUNC(permuted)((low) | (ulong)(high) << 32, which)
INLINED uint FUNC(permuted)(const ulong bytes, const uint which) {
    uint picked = 0;
    for (int i = 0; i < 4; ++i) picked |= (uint)(bytes >> (which >> i * 4 & 7) * 8 & 0xFF) << i * 8;
    return picked;
}

// Memory; what caches are told changes nothing.
#define ptx_createpolicy_fractional_L2_evict_first_b64(to, share) (to) = 0
#define ptx_prefetch_global_L2(p) (void)(p)
#define ptx_ld_global_nc_L1_no_allocate_L2_cache_hint_v4_u32(to0, to1, to2, to3, p, policy) do { \
        const uint4 ptx_read_ = *(const global uint4*)(p); \
        to0 = ptx_read_.x; to1 = ptx_read_.y; to2 = ptx_read_.z; to3 = ptx_read_.w; \
        (void)(policy); \
    } while (0)
#define ptx_st_shared_v4_b32(to, x, y, z, w) *(local uint4*)FUNC(at_address)(to) = (uint4)(x, y, z, w)
#define ptx_cp_async_cg_shared_global(to, from, size, bytes) \
    FUNC(copy_halves)(FUNC(at_address)(to), (const global ushort*)(from), (size) / 2, (bytes) / 2)
#define ptx_cp_async_cg_shared_global_L2_cache_hint(to, from, size, bytes, policy) \
    ptx_cp_async_cg_shared_global(to, from, size, bytes)
#define ptx_cp_async_commit_group()
#define ptx_cp_async_wait_group(n)
INLINED void FUNC(copy_halves)(local ushort* to, const global ushort* from, const int count, const int there) {
    for (int i = 0; i < count; ++i) to[i] = i < there ? from[i] : 0;
}

// Warps and groups.
#define ptx_bar_sync(number) barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define ptx_bar_warp_sync(lanes) AWAIT_WARP()
#define clinfer_of_lane(value, exchanged, lanes) FUNC(of_lane)(value, exchanged)
INLINED float FUNC(of_lane)(const float value, const int exchanged) {
    OWN_WARP->words[LANE] = as_uint(value);
    AWAIT_WARP();
    const float other = as_float(OWN_WARP->words[LANE ^ exchanged]);
    AWAIT_WARP();
    return other;
}

#define LOAD_MATRICES_(to0, to1, to2, to3, address, is_transposed) do { \
        uint ptx_read_[4]; \
        FUNC(load_matrices)(ptx_read_, address, is_transposed); \
        to0 = ptx_read_[0]; to1 = ptx_read_[1]; to2 = ptx_read_[2]; to3 = ptx_read_[3]; \
    } while (0)
#define ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16(...) LOAD_MATRICES_(__VA_ARGS__, 0)
#define ptx_ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(...) LOAD_MATRICES_(__VA_ARGS__, 1)
INLINED void FUNC(load_matrices)(uint* to, const uint address, const int is_transposed) {
    OWN_WARP->words[LANE] = address;
    AWAIT_WARP();
    for (int i = 0; i < 4; ++i) {
        uint halves[2];
        for (int h = 0; h < 2; ++h) {
            const int outer = LANE / 4, inner = LANE % 4 * 2 + h;
            const int row = is_transposed ? inner : outer, column = is_transposed ? outer : inner;
            halves[h] = FUNC(at_address)(OWN_WARP->words[i * 8 + row])[column];
        }
        to[i] = halves[0] | halves[1] << 16;
    }
    AWAIT_WARP();
}

#define ptx_mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(to0, to1, to2, to3, a0, a1, a2, a3, b0, b1, \
                                                              c0, c1, c2, c3) do { \
        const uint ptx_left_[4] = {a0, a1, a2, a3}, ptx_right_[2] = {b0, b1}; \
        float ptx_sums_[4] = {c0, c1, c2, c3}; \
        FUNC(multiply_add)(ptx_sums_, ptx_left_, ptx_right_); \
        to0 = ptx_sums_[0]; to1 = ptx_sums_[1]; to2 = ptx_sums_[2]; to3 = ptx_sums_[3]; \
    } while (0)
INLINED void FUNC(multiply_add)(float* sums, const uint* left, const uint* right) {
    const int outer = LANE / 4, inner = LANE % 4 * 2;
    for (int h = 0; h < 2; ++h) {
        for (int i = 0; i < 4; ++i)
            OWN_WARP->left[outer + i % 2 * 8][inner + i / 2 * 8 + h] = FUNC(half_of)(left[i], h);
        for (int i = 0; i < 2; ++i) OWN_WARP->right[inner + i * 8 + h][outer] = FUNC(half_of)(right[i], h);
    }
    AWAIT_WARP();
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 16; ++k)
            sums[i] += OWN_WARP->left[outer + i / 2 * 8][k] * OWN_WARP->right[k][inner + i % 2];
    AWAIT_WARP();
}
