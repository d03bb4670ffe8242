// Copies of boxes of halves to local memory by Hopper's tensor memory accelerator (PTX ISA, "Tensor copies",
// cp.async.bulk.tensor). One work-item starts a copy; what lies outside the tensor becomes zeros, and rows of 64 halves
// arrive as CHUNK_AT exchanges them. `barrier` counts the bytes of a box, whether they were there or not.
//   WRITE_MAP(map, p, rank, sizes, pitches, box, steps)   describes halves from `p` on in 128 bytes of global memory
//       `map`, for this work-item to copy from: int sizes[4] and long pitches[4] of axes, the first of which has pitch
//       1, `rank` of them, in boxes of 64 of the first axis, box.x of the second and box.y of the third
//   WRITE_PIXEL_MAP(map, p, sizes, pitches, low, high, pixels, strides)   the same of pictures, axes channels, x, y and
//       picture: a box is 64 channels of `pixels` pixels in their order, `strides` apart, from `low` to `high` behind
//       the last
//   BULK_COPY_2(to, map, at0, at1, barrier)   starts the copy of a box
//   BULK_COPY_2_LEAVING(...), BULK_COPY_3_LEAVING(to, map, at0, at1, at2, barrier)   the same of what is first to leave
//       the second-level cache (tensor_cores.h)
//   BULK_COPY_PIXELS(to, map, channel, x, y, picture, right, down, barrier)   the same of pixels from this one on, each
//       taken so far right and down of its place
//   EXPECT_BYTES(barrier, n)    arrives; the phase is not over before n bytes have been counted
//   MAPS_SHOWN(maps)            two maps that this work-item wrote are there for its copies
// How a map holds this is not documented: read off those that cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col write.
#ifdef __NV_CL_C_VERSION
#define BULK_COPY_2(to, map, at0, at1, barrier) \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes " \
        "[%0], [%1, {%2, %3}], [%4];" :: "r"(to), "l"((ulong)(map)), "r"(at0), "r"(at1), "r"(barrier) : "memory")
#define BULK_COPY_2_LEAVING(to, map, at0, at1, barrier) \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint " \
        "[%0], [%1, {%2, %3}], [%4], %5;" \
        :: "r"(to), "l"((ulong)(map)), "r"(at0), "r"(at1), "r"(barrier), "l"(LEAVES) : "memory")
#define BULK_COPY_3_LEAVING(to, map, at0, at1, at2, barrier) \
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint " \
        "[%0], [%1, {%2, %3, %4}], [%5], %6;" \
        :: "r"(to), "l"((ulong)(map)), "r"(at0), "r"(at1), "r"(at2), "r"(barrier), "l"(LEAVES) : "memory")
#define BULK_COPY_PIXELS(to, map, channel, x, y, picture, right, down, barrier) \
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes " \
        "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" \
        :: "r"(to), "l"((ulong)(map)), "r"(channel), "r"(x), "r"(y), "r"(picture), "r"(barrier), \
           "h"((ushort)(right)), "h"((ushort)(down)) : "memory")
#define EXPECT_BYTES(barrier, n) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(n) : "memory")
#define MAPS_SHOWN(maps) \
    asm volatile("fence.proxy.tensormap::generic.release.gpu;\n" \
        "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;\n" \
        "fence.proxy.tensormap::generic.acquire.gpu [%0 + 128], 128;" :: "l"((ulong)(maps)) : "memory")
#else
#define BULK_COPY_2(to, map, at0, at1, barrier) ((void)(map))
#define BULK_COPY_2_LEAVING(to, map, at0, at1, barrier) ((void)(map))
#define BULK_COPY_3_LEAVING(to, map, at0, at1, at2, barrier) ((void)(map))
#define BULK_COPY_PIXELS(to, map, channel, x, y, picture, right, down, barrier) ((void)(map))
#define EXPECT_BYTES(barrier, n)
#define MAPS_SHOWN(maps)
#endif
#define BULK_COLUMNS 64
#define MAP_WORDS 16

// `kind`: 1 for pixels; `steps`: the strides within word 6; `extent`: word 7; `rows`: of a box, as they arrive.
INLINED void FUNC(write_map)(global ulong* map, const global half* from, const int rank, const int* sizes,
                             const long* pitches, const uint kind, const ulong steps, const ulong extent,
                             const int rows) {
    ulong units[4], last[4];
    #pragma unroll
    for (int axis = 0; axis < 4; ++axis) {
        // Of an axis of one element the distance to the next may be anything.
        units[axis] = axis < rank && sizes[axis] > 1 ? (ulong)pitches[axis] / 8 : axis < rank;
        last[axis] = axis < rank ? (uint)(sizes[axis] - 1) : 0;
    }
    const uint halves = 0x300, swizzle_128 = 3 << 13, fetch_128 = 2 << 17;
    map[0] = (ulong)from;
    map[1] = kind | (rank - 1) << 4 | halves | swizzle_128 | fetch_128 | units[1] << 32;
    map[2] = (uint)units[2] | units[3] << 32;
    map[3] = (units[1] >> 32 & 15) << 32 | (units[2] >> 32 & 15) << 36 | (units[3] >> 32 & 15) << 40;
    map[4] = last[0] | last[1] << 32;
    map[5] = last[2] | last[3] << 32;
    map[6] = steps | (ulong)(BULK_COLUMNS - 1) << 56;
    map[7] = extent;
    map[8] = BULK_COLUMNS * 2 * rows;
    map[9] = 0x400;
    #pragma unroll
    for (int word = 10; word < MAP_WORDS; ++word) map[word] = 0;
}
#define WRITE_MAP(map, from, rank, sizes, pitches, box) \
    FUNC(write_map)(map, from, rank, sizes, pitches, 0, 0, (ulong)((box).x - 1) | (ulong)((box).y - 1) << 8, \
                    (box).x * (box).y)
#define WRITE_PIXEL_MAP(map, from, sizes, pitches, low, high, pixels, strides) \
    FUNC(write_map)(map, from, 4, sizes, pitches, 1, \
                    (ulong)((strides).x - 1) << 35 | (ulong)((strides).y - 1) << 38, \
                    (uint)((low).x & 255) | (uint)((low).y & 255) << 8 | (uint)((high).x & 255) << 16 \
                        | (ulong)((uint)((high).y & 255) << 24) | (ulong)((pixels) - 1) << 32, pixels)
