// What only NVIDIA's GPUs have, as inline PTX; one section is compiled at a time, as in probes.cl.

#if defined(PROBE_TENSOR_CORES)
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

#elif defined(PROBE_BULK_COPIES)
// One work-item describes `in` as two rows of 64 halves, and as two pixels of 64 channels with a border before them,
// and has four of each copied. Those that are not there are zeros, and chunks of 8 halves are exchanged. out[0] counts
// what is wrong, out[1] tells that all was copied; before, the descriptions stand in `out`.
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void probe(global const int* in, global int* out) {
    local ushort copied[2][4 * 64] __attribute__((aligned(1024)));
    local ulong arrived;
    local int wrong;
    const uint barrier_at = (uint)(ulong)&arrived;
    if (get_local_id(0) == 0) {
        wrong = 0;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier_at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(barrier_at) : "memory");
        for (int pixels = 0; pixels < 2; ++pixels) {
            global ulong* map = (global ulong*)out + pixels * 16;
            const ulong halves_swizzled = 0x300 | 3 << 13 | 2 << 17;
            const ulong words[16] = {(ulong)in, halves_swizzled | (pixels ? 1 | 3 << 4 : 1 << 4) | 8UL << 32,
                                     pixels ? 16 | 16UL << 32 : 0, 0, 63 | 1UL << 32, 0, 63UL << 56,
                                     pixels ? 0xFF | 3UL << 32 : 3, 512, 0x400, 0, 0, 0, 0, 0, 0};
            for (int word = 0; word < 16; ++word) map[word] = words[word];
            asm volatile("fence.proxy.tensormap::generic.release.gpu;\n"
                         "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"((ulong)map) : "memory");
        }
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %2}], [%3];"
                     :: "r"((uint)(ulong)copied[0]), "l"((ulong)out), "r"(0), "r"(barrier_at) : "memory");
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3, %2, %2}], [%4], {%5, %5};"
                     :: "r"((uint)(ulong)copied[1]), "l"((ulong)(out + 32)), "r"(0), "r"(-1), "r"(barrier_at),
                        "h"((ushort)0) : "memory");
        asm volatile("{\n.reg .pred over;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 over, [%0], 0;\n"
                     "@!over bra wait;\n}" :: "r"(barrier_at) : "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < 2 * 4 * 64; i += 32) {
        const int row = i / 64 % 4, from = row - i / 256, chunk = i % 64 / 8 ^ row;
        const ushort expected = from >= 0 && from < 2 ? ((global const ushort*)in)[from * 64 + i % 64] : 0;
        if (copied[i / 256][row * 64 + chunk * 8 + i % 8] != expected) atomic_inc(&wrong);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        out[0] = wrong;
        out[1] = 1;
    }
}
#elif defined(PROBE_MEGAKERNELS)
// Each reads what other groups wrote in the launch before, one with a local size of its own and the other without.
kernel __attribute__((reqd_work_group_size(64, 2, 1))) void gather(global const int* in, global int* out, int n) {
    local int turned[128];
    int item = get_local_id(1) * 64 + get_local_id(0), i = get_group_id(0) * 128 + item;
    turned[127 - item] = i < n ? in[(i * 37 + 11) % n] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) out[i] = turned[item] + (int)get_group_id(0);
}
kernel void turn(global const int* restrict in, global int* out, int n) {
    int i = get_global_id(0);
    out[i] = in[n - 1 - i] * 3 + i;
}

#elif defined(PROBE_ADDRESS)
kernel void probe(global uchar* memory, global ulong* found) { *found = (ulong)memory; }

#endif
