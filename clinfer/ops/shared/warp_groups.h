// Matrix products by groups of four warps: Hopper's wgmma (PTX ISA, "Asynchronous warpgroup level matrix
// instructions"). Only the target sm_90a has them; for the driver's own they stand here as comments, which
// `retargeted` (runtime/program.py) brings to light. Both sides lie in local memory as rows of 64 halves, of which
// CHUNK_AT exchanges the chunks (the instructions' 128-byte swizzle), and start at a multiple of 1024 bytes.
//   MULTIPLY_STEP(sum, left, right)  begins sum [64, TILE_COLUMNS] += left [64, 64] * right [64, TILE_COLUMNS], left
//                                    rows and, with RIGHT_ALONG_K, columns along k; else rows of 64 columns each, 64 of
//                                    them, then those of the next 64 columns. Warp w of the four holds rows 16 * w on:
//                                    of columns 8 * j on what MULTIPLY_ADD holds of a sum, in float sum[j][4]
//   MULTIPLY_HELD_64(sum, left, right), MULTIPLY_HELD_128(...)   the same of a left side [64, 64] that the warps hold
//                                    as MULTIPLY_ADD has one, uint left[4][4] for 16 of k each, and a right side of
//                                    rows of 64 columns; sum [64, 64] or [64, 128]
//   PRODUCTS_WAIT(sum)               until all is in `sum`; HELD_64_WAIT(sum, left), HELD_128_WAIT(sum, left): the same
//                                    of these, which need what is held until then
//   PRODUCTS_BUT_ONE_WAIT()          until at most the youngest step is under way
//   OLDER_PRODUCTS_WAIT(sum)         the same, of a youngest step that adds to other sums: until all is in `sum`
//   COPIES_SHOWN()                   what was written or copied, and waited for, is there for products and bulk copies
//                                    behind the next barrier, or for this work-item's
// and what orders warps of different roles, by barriers of 8 bytes in local memory ("mbarrier"): a phase is over when
// so many have arrived in it, and the next begins; their numbers are 0, 1, 0, 1, ...
//   PHASES_BEGIN(barrier, count)     phase 0 begins, of so many arrivals
//   ARRIVE(barrier)                  arrives
//   PHASE_WAIT(barrier, phase)       until a phase of that number is over
//   FEWER_REGISTERS()                gives registers back, of which FEWER are left, for MORE_REGISTERS() to take until
//                                    there are MORE; all four warps of a group
#define SUMS_4(sum, j) "+f"((sum)[j][0]), "+f"((sum)[j][1]), "+f"((sum)[j][2]), "+f"((sum)[j][3])
#define SUMS_16(sum, j) SUMS_4(sum, j), SUMS_4(sum, j + 1), SUMS_4(sum, j + 2), SUMS_4(sum, j + 3)
#define SUMS_32(sum, j) SUMS_16(sum, j), SUMS_16(sum, j + 4)
#define PLACES_0 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define PLACES_32 \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define PLACES_64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define PLACES_96 \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SUMS_OF_64(sum) SUMS_32(sum, 0)
#define SUMS_OF_128(sum) SUMS_32(sum, 0), SUMS_32(sum, 8)
#define PRODUCTS_OF_64 "n64k16.f32.f16.f16 {" PLACES_0 "}"
#define PRODUCTS_OF_128 "n128k16.f32.f16.f16 {" PLACES_0 PLACES_32 "}"
#if TILE_COLUMNS == 64
#define SUMS(sum) SUMS_OF_64(sum)
#define PRODUCTS PRODUCTS_OF_64
#define LEFT_PLACE "%32"
#define RIGHT_PLACE "%33"
#elif TILE_COLUMNS == 128
#define SUMS(sum) SUMS_OF_128(sum)
#define PRODUCTS PRODUCTS_OF_128
#define LEFT_PLACE "%64"
#define RIGHT_PLACE "%65"
#elif TILE_COLUMNS == 192
#define SUMS(sum) SUMS_32(sum, 0), SUMS_32(sum, 8), SUMS_32(sum, 16)
#define PRODUCTS "n192k16.f32.f16.f16 {" PLACES_0 PLACES_32 PLACES_64 "}"
#define LEFT_PLACE "%96"
#define RIGHT_PLACE "%97"
#elif TILE_COLUMNS == 256
#define SUMS(sum) SUMS_32(sum, 0), SUMS_32(sum, 8), SUMS_32(sum, 16), SUMS_32(sum, 24)
#define PRODUCTS "n256k16.f32.f16.f16 {" PLACES_0 PLACES_32 PLACES_64 PLACES_96 "}"
#define LEFT_PLACE "%128"
#define RIGHT_PLACE "%129"
#endif
// Per 16 of k: 32 bytes along k, 16 rows of 128 bytes along the columns, in units of 16 bytes.
#if RIGHT_ALONG_K
#define RIGHT_STEP "2"
#define RIGHT_TURNED "0"
#else
#define RIGHT_STEP "128"
#define RIGHT_TURNED "1"
#endif

// How a matrix lies in local memory ("Matrix descriptor"): its address, the bytes from 64 columns to the next, those
// from 8 rows to the next, and the swizzle of 128 bytes.
INLINED ulong FUNC(matrix_at)(const uint address) {
    return (address & 0x3FFFF) >> 4 | (ulong)(DEPTH * 128 / 16) << 16 | (ulong)(1024 / 16) << 32 | 1UL << 62;
}

#ifndef MORE
#define FEWER 40
#define MORE 232
#endif
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#ifdef __NV_CL_C_VERSION
#define MULTIPLY_16 "//@@ wgmma.mma_async.sync.aligned.m64" PRODUCTS ", l_, r_, 1, 1, 1, 0, " RIGHT_TURNED ";\n"
#define NEXT_16 "//@@ add.s64 l_, l_, 2;\n//@@ add.s64 r_, r_, " RIGHT_STEP ";\n"
#define MULTIPLY_STEP(sum, left, right) \
    asm volatile("//@@ {\n//@@ .reg .b64 l_, r_;\n" \
        "//@@ mov.b64 l_, " LEFT_PLACE ";\n//@@ mov.b64 r_, " RIGHT_PLACE ";\n" \
        "//@@ wgmma.fence.sync.aligned;\n" \
        MULTIPLY_16 NEXT_16 MULTIPLY_16 NEXT_16 MULTIPLY_16 NEXT_16 MULTIPLY_16 \
        "//@@ wgmma.commit_group.sync.aligned;\n//@@ }\n" \
        : SUMS(sum) : "l"(FUNC(matrix_at)(left)), "l"(FUNC(matrix_at)(right)) : "memory")
#define HELD_16(products, left) \
    "//@@ wgmma.mma_async.sync.aligned.m64" products ", " left ", r_, 1, 1, 1, 1;\n"
#define MULTIPLY_HELD(products, sums, left0, left1, left2, left3, place, left, right) \
    asm volatile("//@@ {\n//@@ .reg .b64 r_;\n//@@ mov.b64 r_, " place ";\n" \
        "//@@ wgmma.fence.sync.aligned;\n" \
        HELD_16(products, left0) "//@@ add.s64 r_, r_, 128;\n" HELD_16(products, left1) \
        "//@@ add.s64 r_, r_, 128;\n" HELD_16(products, left2) "//@@ add.s64 r_, r_, 128;\n" \
        HELD_16(products, left3) "//@@ wgmma.commit_group.sync.aligned;\n//@@ }\n" \
        : sums : HELD_4(left, 0), HELD_4(left, 1), HELD_4(left, 2), HELD_4(left, 3), \
          "l"(FUNC(matrix_at)(right)) : "memory")
#define HELD_4(left, k) "r"((left)[k][0]), "r"((left)[k][1]), "r"((left)[k][2]), "r"((left)[k][3])
#define MULTIPLY_HELD_64(sum, left, right) \
    MULTIPLY_HELD(PRODUCTS_OF_64, SUMS_OF_64(sum), "{%32, %33, %34, %35}", "{%36, %37, %38, %39}", \
                  "{%40, %41, %42, %43}", "{%44, %45, %46, %47}", "%48", left, right)
#define MULTIPLY_HELD_128(sum, left, right) \
    MULTIPLY_HELD(PRODUCTS_OF_128, SUMS_OF_128(sum), "{%64, %65, %66, %67}", "{%68, %69, %70, %71}", \
                  "{%72, %73, %74, %75}", "{%76, %77, %78, %79}", "%80", left, right)
#define PRODUCTS_WAIT(sum) asm volatile("//@@ wgmma.wait_group.sync.aligned 0;" : SUMS(sum) :: "memory")
#define PRODUCTS_BUT_ONE_WAIT() asm volatile("//@@ wgmma.wait_group.sync.aligned 1;" ::: "memory")
#define OLDER_PRODUCTS_WAIT(sum) asm volatile("//@@ wgmma.wait_group.sync.aligned 1;" : SUMS(sum) :: "memory")
#define HELD_WAIT(sums, left) \
    asm volatile("//@@ wgmma.wait_group.sync.aligned 0;" \
        : sums, KEPT_4(left, 0), KEPT_4(left, 1), KEPT_4(left, 2), KEPT_4(left, 3) :: "memory")
#define KEPT_4(left, k) "+r"((left)[k][0]), "+r"((left)[k][1]), "+r"((left)[k][2]), "+r"((left)[k][3])
#define HELD_64_WAIT(sum, left) HELD_WAIT(SUMS_OF_64(sum), left)
#define HELD_128_WAIT(sum, left) HELD_WAIT(SUMS_OF_128(sum), left)
#define COPIES_SHOWN() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define PHASES_BEGIN(barrier, count) \
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(count) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory")
#define PHASE_WAIT(barrier, phase) \
    asm volatile("{\n.reg .pred over_;\nwait_:\n" \
        "mbarrier.try_wait.parity.shared::cta.b64 over_, [%0], %1;\n@!over_ bra wait_;\n}" \
        :: "r"(barrier), "r"(phase) : "memory")
#define FEWER_REGISTERS() asm volatile("//@@ setmaxnreg.dec.sync.aligned.u32 " TEXT(FEWER) ";" ::: "memory")
#define MORE_REGISTERS() asm volatile("//@@ setmaxnreg.inc.sync.aligned.u32 " TEXT(MORE) ";" ::: "memory")
#else
#define MULTIPLY_STEP(sum, left, right) ((sum)[0][0] += FUNC(matrix_at)(left) + FUNC(matrix_at)(right))
#define MULTIPLY_HELD_64(sum, left, right) ((sum)[0][0] += (left)[0][0] + FUNC(matrix_at)(right))
#define MULTIPLY_HELD_128(sum, left, right) MULTIPLY_HELD_64(sum, left, right)
#define HELD_64_WAIT(sum, left) ((void)(sum), (void)(left))
#define HELD_128_WAIT(sum, left) HELD_64_WAIT(sum, left)
#define PRODUCTS_BUT_ONE_WAIT()
#define OLDER_PRODUCTS_WAIT(sum) ((void)(sum))
#define PRODUCTS_WAIT(sum) ((void)(sum))
#define COPIES_SHOWN()
#define PHASES_BEGIN(barrier, count) ((void)(barrier))
#define ARRIVE(barrier) ((void)(barrier))
#define PHASE_WAIT(barrier, phase) ((void)(barrier), (void)(phase))
#define FEWER_REGISTERS()
#define MORE_REGISTERS()
#endif
