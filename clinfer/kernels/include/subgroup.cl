// Combining one value of every work-item of a work-group.
// The group has one dimension and `lanes` work-items, a power of two; `lane` is get_local_id(0) and `shared` a
// local array of `lanes` values of the same type. Every work-item of the group must get there; all of them then
// hold the result in `value`.
//   GROUP_COMBINE(OP, value, shared, lane, lanes)   any associative OP(a, b), through local memory
//   GROUP_ADD(value, shared, lane, lanes)           sum, by sub-groups where the device has them
//   GROUP_MAX(value, shared, lane, lanes)           maximum of floats, likewise
// CLINFER_SUBGROUPS says whether sub_group_reduce_add and its kind build and give right results. Without them, the
// warps of NVIDIA's GPUs do the same.

#ifndef CLINFER_SUBGROUPS
#define CLINFER_SUBGROUPS 0
#endif

#define GROUP_COMBINE(OP, value, shared, lane, lanes) do { \
        barrier(CLK_LOCAL_MEM_FENCE); \
        (shared)[lane] = (value); \
        for (int step_ = (lanes) / 2; step_ > 0; step_ /= 2) { \
            barrier(CLK_LOCAL_MEM_FENCE); \
            if ((lane) < step_) (shared)[lane] = OP((shared)[lane], (shared)[(lane) + step_]); \
        } \
        barrier(CLK_LOCAL_MEM_FENCE); \
        (value) = (shared)[0]; \
    } while (0)

#define GROUP_PLUS_(a, b) ((a) + (b))

#ifdef __NV_CL_C_VERSION
// NVIDIA's driver offers no sub-groups, but PTX the exchange of values in a warp, 32 work-items ("shfl.sync").
#define CLINFER_OVERLOADED_ static inline __attribute__((overloadable))
CLINFER_OVERLOADED_ uint clinfer_of_lane(uint value, int exchanged, uint present) {
    uint other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, %3;" : "=r"(other) : "r"(value), "r"(exchanged), "r"(present));
    return other;
}
CLINFER_OVERLOADED_ int clinfer_of_lane(int value, int exchanged, uint present) {
    return as_int(clinfer_of_lane(as_uint(value), exchanged, present));
}
CLINFER_OVERLOADED_ float clinfer_of_lane(float value, int exchanged, uint present) {
    return as_float(clinfer_of_lane(as_uint(value), exchanged, present));
}
CLINFER_OVERLOADED_ ulong clinfer_of_lane(ulong value, int exchanged, uint present) {
    const uint2 halves = as_uint2(value);
    return as_ulong((uint2)(clinfer_of_lane(halves.x, exchanged, present),
                            clinfer_of_lane(halves.y, exchanged, present)));
}
CLINFER_OVERLOADED_ long clinfer_of_lane(long value, int exchanged, uint present) {
    return as_long(clinfer_of_lane(as_ulong(value), exchanged, present));
}
#ifdef cl_khr_fp64
CLINFER_OVERLOADED_ double clinfer_of_lane(double value, int exchanged, uint present) {
    return as_double(clinfer_of_lane(as_ulong(value), exchanged, present));
}
#endif
#endif

#if CLINFER_SUBGROUPS
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#ifdef cl_intel_subgroups
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif
// Each sub-group reduces its values; their results, few, pass through local memory.
#define GROUP_BY_SUBGROUPS_(REDUCE, OP, value, shared) do { \
        (value) = REDUCE(value); \
        barrier(CLK_LOCAL_MEM_FENCE); \
        if (get_sub_group_local_id() == 0) (shared)[get_sub_group_id()] = (value); \
        barrier(CLK_LOCAL_MEM_FENCE); \
        (value) = (shared)[0]; \
        for (int other_ = 1; other_ < (int)get_num_sub_groups(); ++other_) \
            (value) = OP(value, (shared)[other_]); \
    } while (0)
#define GROUP_ADD(value, shared, lane, lanes) GROUP_BY_SUBGROUPS_(sub_group_reduce_add, GROUP_PLUS_, value, shared)
#define GROUP_MAX(value, shared, lane, lanes) GROUP_BY_SUBGROUPS_(sub_group_reduce_max, fmax, value, shared)
#elif defined(__NV_CL_C_VERSION)
// Each warp combines its values; their results pass through local memory.
#define GROUP_BY_WARPS_(OP, value, shared, lane, lanes) do { \
        const uint present_ = (lanes) >= 32 ? 0xFFFFFFFF : (1u << (lanes) % 32) - 1; \
        for (int step_ = (lanes) >= 32 ? 16 : (lanes) / 2; step_ > 0; step_ /= 2) \
            (value) = OP(value, clinfer_of_lane(value, step_, present_)); \
        if ((lanes) > 32) { \
            barrier(CLK_LOCAL_MEM_FENCE); \
            if ((lane) % 32 == 0) (shared)[(lane) / 32] = (value); \
            barrier(CLK_LOCAL_MEM_FENCE); \
            (value) = (shared)[0]; \
            for (int other_ = 1; other_ < (lanes) / 32; ++other_) (value) = OP(value, (shared)[other_]); \
        } \
    } while (0)
#define GROUP_ADD(value, shared, lane, lanes) GROUP_BY_WARPS_(GROUP_PLUS_, value, shared, lane, lanes)
#define GROUP_MAX(value, shared, lane, lanes) GROUP_BY_WARPS_(fmax, value, shared, lane, lanes)
#else
#define GROUP_ADD(value, shared, lane, lanes) GROUP_COMBINE(GROUP_PLUS_, value, shared, lane, lanes)
#define GROUP_MAX(value, shared, lane, lanes) GROUP_COMBINE(fmax, value, shared, lane, lanes)
#endif
