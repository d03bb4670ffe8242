// Reductions over the SUBGROUP_SIZE work-items of a group of that size along dimension 0.
// `scratch` is a local array of SUBGROUP_SIZE elements, used where the device has no sub-groups
// (CLINFER_SUBGROUPS 0). Every work-item of the group must call, and all receive the result.

#ifndef CLINFER_SUBGROUPS
#define CLINFER_SUBGROUPS 0
#endif

#if CLINFER_SUBGROUPS
#define SUBGROUP_REDUCE_ADD(v, scratch) sub_group_reduce_add(v)
#define SUBGROUP_REDUCE_MAX(v, scratch) sub_group_reduce_max(v)
#else
inline float clinfer_group_reduce_add(float v, local float* scratch) {
    const int lane = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    scratch[lane] = v;
    for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step) scratch[lane] += scratch[lane + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return scratch[0];
}

inline float clinfer_group_reduce_max(float v, local float* scratch) {
    const int lane = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    scratch[lane] = v;
    for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step) scratch[lane] = fmax(scratch[lane], scratch[lane + step]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return scratch[0];
}
#define SUBGROUP_REDUCE_ADD(v, scratch) clinfer_group_reduce_add(v, scratch)
#define SUBGROUP_REDUCE_MAX(v, scratch) clinfer_group_reduce_max(v, scratch)
#endif
