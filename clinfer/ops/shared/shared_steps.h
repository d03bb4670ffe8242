// Tiles of products (mma_tiles.h) whose steps several groups share ("split-K"): each group multiplies some of the steps
// and leaves its sums in memory; the last one to arrive adds the sums of all, in the order of the shares whoever was
// last, and stores the tile. Warps of the same number hold the same results: each has a counter of its own.
// The kernel has `partials`, 4 floats for each of a work-item's sums, and `counters`, zeros that this leaves as zeros.
//   ADD_SHARES(sum, work, tiles)   true for the warp that has the sums of all shares
// Shares of the same number come one behind the other, so that groups that run at once are of different tiles.
#define WORKS(tiles) ((tiles) * ARG_SHARES)
#define TILE_OF(work, tiles) ((work) % (tiles))
#define FIRST_STEP(work, tiles) ((work) / (tiles) * ARG_SHARE_STEPS)
#define END_STEP(work, tiles, steps) min(FIRST_STEP(work, tiles) + ARG_SHARE_STEPS, (int)(steps))
#define ADD_SHARES(sum, work, tiles) \
    (ARG_SHARES == 1 || FUNC(add_shares)(sum, (global float4*)partials, (global uint*)counters, work, tiles PASS_ARGS))
#define SHARING_PARAMETERS , global SCRATCH1_TYPE* partials, global COUNTERS_TYPE* counters
#define SUMS_OF(n) sum[(n) / (PART_COLUMNS / 8)][(n) % (PART_COLUMNS / 8)]
#define WARP_SUMS (PART_ROWS / 16 * (PART_COLUMNS / 8))

#ifdef __NV_CL_C_VERSION
// Counts to `last`, then from 0 again; what the warp wrote before is there for whoever counts behind it.
INLINED uint FUNC(count_warp)(global uint* counter, const uint last) {
    uint before = 0;
    WARP_BARRIER();
    if (get_local_id(0) % 32 == 0)
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
            : "=r"(before) : "l"((ulong)counter), "r"(last) : "memory");
    asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(before) :: "memory");
    return before;
}
// Past the first level of caches, which does not hear of what other groups write.
#define LOAD_SUMS(to, p) \
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" \
        : "=f"((to).x), "=f"((to).y), "=f"((to).z), "=f"((to).w) : "l"((ulong)(p)) : "memory")
#else
INLINED uint FUNC(count_warp)(global uint* counter, const uint last) { return *counter + last; }
#define LOAD_SUMS(to, p) ((to) = *(p))
#endif

INLINED bool FUNC(add_shares)(float (*sum)[PART_COLUMNS / 8][4], global float4* partials, global uint* counters,
                              const int work, const int tiles ARGS) {
    const int tile = TILE_OF(work, tiles), lane = get_local_id(0) % 32, apart = tiles * TEAM_WARPS * WARP_SUMS * 32;
    global float4* first = partials + (tile * TEAM_WARPS + TEAM_WARP) * WARP_SUMS * 32 + lane;
    global float4* own = first + work / tiles * apart;
    #pragma unroll
    for (int n = 0; n < WARP_SUMS; ++n) own[n * 32] = vload4(0, SUMS_OF(n));
    if (FUNC(count_warp)(counters + tile * TEAM_WARPS + TEAM_WARP, ARG_SHARES - 1) != ARG_SHARES - 1) return false;
    float4 sums[WARP_SUMS];
    #pragma unroll
    for (int n = 0; n < WARP_SUMS; ++n) LOAD_SUMS(sums[n], first + n * 32);
    #pragma unroll 2
    for (int share = 1; share < ARG_SHARES; ++share) {
        float4 others[WARP_SUMS];
        #pragma unroll
        for (int n = 0; n < WARP_SUMS; ++n) LOAD_SUMS(others[n], first + (long)share * apart + n * 32);
        #pragma unroll
        for (int n = 0; n < WARP_SUMS; ++n) sums[n] += others[n];
    }
    #pragma unroll
    for (int n = 0; n < WARP_SUMS; ++n) vstore4(sums[n], 0, SUMS_OF(n));
    return true;
}
