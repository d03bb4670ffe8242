// Turns data in blocks of 16 channels, multiples of a step, into bytes (number / step + zero point), for CPUs.
// One work-item goes along rows (tile_runs.h) of pixels of one block. Views: data [B, C, 1, Y, X], bytes [B, blocks, Y,
// X, 16], of which the data begin at row ARG_PAD_Y, pixel ARG_PAD_X, and what lies outside of them is the zero point;
// grid [1, 3]: 1 / step, zero point, step. Data that are stored as bytes are copied. Channels that do not exist are
// anything.
#include "clinfer.cl"

#include "shared/spatial.h"
#include "shared/tile_runs.h"
#include "pixels.h"

#ifdef INPUT0_IS_Q8
#define BYTES_AT(place) vload16(0, input + (place))
#else
#define BYTES_AT(place) clinfer_to_bytes16(fma(INPUT0_LOAD16(input, place), factor, zero))
#endif

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_to_bytes)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict grid,
                             global SCRATCH0_TYPE* restrict bytes ARGS) {
    const int block = get_global_id(1), batch = get_global_id(2), width = SCRATCH0_SIZE_3;
    const float factor = INPUT1_LOAD(grid, INPUT1_OFFSET), zero = INPUT1_LOAD(grid, INPUT1_OFFSET + 1);
    const uchar16 outside = convert_uchar_sat_rte(zero);
    EACH_TILE_OF_RUN(0, y, SCRATCH0_SIZE_2) {
        const int from_y = y - ARG_PAD_Y;
        const int at[MAX_RANK] = {batch, block * BLOCK, 0, from_y, 0}, to[MAX_RANK] = {batch, block, y, 0, 0};
        const int from = INPUT0_INDEX_OF(at) - ARG_PAD_X * BLOCK;
        global uchar* packed = (global uchar*)bytes + SCRATCH0_INDEX_OF(to);
        const int begin = IS_ON_AXIS(from_y, INPUT0_SIZE_Y) ? clamp((int)ARG_PAD_X, 0, width) : width;
        const int end = clamp((int)(ARG_PAD_X + INPUT0_SIZE_X), begin, width);
        for (int x = 0; x < begin; ++x) vstore16(outside, x, packed);
        for (int x = begin; x < end; ++x) vstore16(BYTES_AT(from + x * BLOCK), x, packed);
        for (int x = end; x < width; ++x) vstore16(outside, x, packed);
    }
}
