// NVIDIA's tensor cores and asynchronous copies, as inline PTX (compute capability 8.0 and later; PTX ISA, "Warp-level
// matrix instructions" and "Asynchronous copy"). A warp is 32 consecutive work-items; all of them must get there.
//   SHARED(p)                    the address of a local pointer as these instructions take it
//   COPY16(to, from, bytes)      starts a copy of 16 bytes from global memory to address `to`; of these only the first
//                                `bytes` are read, the others are zeros. Both sides are aligned to 16 bytes
//   COPY16_LEAVING(...)          the same of what is first to leave the second-level cache (LEAVES), as weights should:
//                                activations and the code of kernels are needed again before they are
//   COPY_CHUNK(to, from, count)  copies 8 halves, of which the first `count` are read, the others zeros; from anywhere,
//                                at once, and slower
//   IS_ALIGNED(p, pitch)         whether rows of halves from p on, so far apart, allow COPY16; with ALIGNED they all do
//   COPIES_END()                 the copies started since the last such call are one batch
//   COPIES_WAIT(n)               until at most the n youngest batches of this work-item are under way (n: a constant)
//   LOAD_FRAGMENTS(to, address)  four 8 x 8 matrices of halves from local memory to uint to[4]: lane 8 * i + j holds
//                                the address of row j of matrix i; a lane then holds elements 2 * (lane % 4) and the
//                                next of row lane / 4
//   LOAD_TRANSPOSED(to, address) the same, with every matrix transposed
//   MULTIPLY_ADD(sum, a, b0, b1) sum [16, 8] += a [16, 16] * b [16, 8], halves with float sums: a lane holds
//                                columns 2 * (lane % 4) and the next of rows lane / 4 and 8 + lane / 4 in float sum[4]
//   GROUP_BARRIER()              all work-items of the group get here before one goes on
//   WARP_BARRIER()               orders what the warp's lanes do to local memory
//   FUNC(four_lanes_max)(value)  the maximum of the values of lanes 4 * n to 4 * n + 3, in all of them; _sum: their sum
//   PACK_HALVES(low, high)       two floats rounded to halves, in a uint
//   CHUNK_AT(row, chunk, chunks) where a chunk of 8 halves stands in local memory, in bytes, in rows of `chunks` of
//                                them (4, 8 or 16): exchanged so that one chunk of 8 rows lies in different banks
// Other compilers than NVIDIA's read these files, too, but cannot build what the instructions do: nothing.
#ifdef __NV_CL_C_VERSION
#define SHARED(p) ((uint)(ulong)(p))
#define COPY16(to, from, bytes) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"((ulong)(from)), "r"(bytes) : "memory")
#define COPY16_LEAVING(to, from, bytes) \
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" \
        :: "r"(to), "l"((ulong)(from)), "r"(bytes), "l"(LEAVES) : "memory")
#define LEAVES FUNC(cache_policy)()
INLINED ulong FUNC(cache_policy)(void) {
    ulong policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
#define STORE16(to, v) \
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" \
        :: "r"(to), "r"((v)[0]), "r"((v)[1]), "r"((v)[2]), "r"((v)[3]) : "memory")
#define COPIES_END() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
#define LOAD_FRAGMENTS(to, address) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" \
        : "=r"((to)[0]), "=r"((to)[1]), "=r"((to)[2]), "=r"((to)[3]) : "r"(address) : "memory")
#define LOAD_TRANSPOSED(to, address) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" \
        : "=r"((to)[0]), "=r"((to)[1]), "=r"((to)[2]), "=r"((to)[3]) : "r"(address) : "memory")
#define MULTIPLY_ADD(sum, a, b0, b1) \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3]) \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))
#define GROUP_BARRIER() asm volatile("bar.sync 0;" ::: "memory")
#define WARP_BARRIER() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")

INLINED uint FUNC(pack_halves)(const float low, const float high) {
    uint packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}
#define PACK_HALVES(low, high) FUNC(pack_halves)(low, high)
#define OF_LANE(value, exchanged) clinfer_of_lane(value, exchanged, 0xFFFFFFFF)
#else
#define SHARED(p) 0
#define COPY16(to, from, bytes) ((void)(to), (void)(from), (void)(bytes))
#define COPY16_LEAVING(to, from, bytes) COPY16(to, from, bytes)
#define LEAVES 0
#define STORE16(to, v) ((void)(to), (void)(v))
#define COPIES_END()
#define COPIES_WAIT(n)
#define LOAD_FRAGMENTS(to, address) ((to)[0] = (to)[1] = (to)[2] = (to)[3] = (address))
#define LOAD_TRANSPOSED(to, address) LOAD_FRAGMENTS(to, address)
#define MULTIPLY_ADD(sum, a, b0, b1) ((sum)[0] += (a)[0] + (b0) + (b1))
#define GROUP_BARRIER()
#define WARP_BARRIER()
#define PACK_HALVES(low, high) ((uint)((low) + (high)))
#define OF_LANE(value, exchanged) (value)
#endif

INLINED float FUNC(four_lanes_max)(const float value) {
    const float two = fmax(value, OF_LANE(value, 1));
    return fmax(two, OF_LANE(two, 2));
}

INLINED float FUNC(four_lanes_sum)(const float value) {
    const float two = value + OF_LANE(value, 1);
    return two + OF_LANE(two, 2);
}

INLINED int FUNC(chunk_at)(const int row, const int chunk, const int chunks) {
    const int exchanged = chunks >= 8 ? row % 8 : row / 2 % 4;
    return (row * chunks + (chunk ^ exchanged)) * 16;
}
#define CHUNK_AT(row, chunk, chunks) FUNC(chunk_at)(row, chunk, chunks)

#ifndef ALIGNED
#define ALIGNED 0
#endif
#define IS_ALIGNED(p, pitch) (ALIGNED || ((ulong)(p) % 16 == 0 && (pitch) % 8 == 0))
#define COPY_CHUNK(to, from, count) FUNC(copy_chunk)(to, from, count)
INLINED void FUNC(copy_chunk)(const uint to, const global half* from, const int count) {
    const global ushort* halves = (const global ushort*)from;
    uint packed[4];
    #pragma unroll
    for (int n = 0; n < 4; ++n)
        packed[n] = (2 * n < count ? halves[2 * n] : 0) | (uint)(2 * n + 1 < count ? halves[2 * n + 1] : 0) << 16;
    STORE16(to, packed);
}

// Copies `count` chunks by COPY (COPY16 or COPY16_LEAVING) or, where the rows are not aligned, by COPY_CHUNK: chunk i
// to to + i * apart, of which HALVES(i) halves from FROM(i) on are there.
#define COPY_CHUNKS(COPY, count, to, apart, FROM, HALVES, aligned) do { \
        if (aligned) { \
            _Pragma("unroll") for (int i_ = 0; i_ < (count); ++i_) \
                COPY((to) + i_ * (apart), FROM(i_), HALVES(i_) * 2); \
        } else { \
            _Pragma("unroll") for (int i_ = 0; i_ < (count); ++i_) \
                COPY_CHUNK((to) + i_ * (apart), FROM(i_), HALVES(i_)); \
        } \
    } while (0)
