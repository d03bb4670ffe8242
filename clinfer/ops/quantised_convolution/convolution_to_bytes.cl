// Turns data in blocks of 16 channels, multiples of a step, into bytes (number / step + zero point), for CPUs.
// One work-item goes along a row of pixels of one block. Views: data [B, C, 1, Y, X], bytes [B, blocks, Y, X, 16], with
// zeros for channels that do not exist; grid [1, 3]: 1 / step, zero point, step.
#include "clinfer.cl"

#include "pixels.h"

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_to_bytes)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict grid,
                             global SCRATCH0_TYPE* restrict bytes ARGS) {
    const int y = get_global_id(0), block = get_global_id(1), batch = get_global_id(2);
    const int at[MAX_RANK] = {batch, block * BLOCK, 0, y, 0}, to[MAX_RANK] = {batch, block, y, 0, 0};
    const int from = INPUT0_INDEX_OF(at);
    global uchar* packed = (global uchar*)bytes + SCRATCH0_INDEX_OF(to);
    const float factor = INPUT1_LOAD(grid, INPUT1_OFFSET), zero = INPUT1_LOAD(grid, INPUT1_OFFSET + 1);
    const uchar16 kept = FUNC(existing)(INPUT0_SIZE_1 - block * BLOCK);
    for (int x = 0; x < INPUT0_SIZE_LAST; ++x)
        vstore16(convert_uchar16_sat_rte(fma(INPUT0_LOAD16(input, from + x * BLOCK), factor, zero)) & kept, x, packed);
}
