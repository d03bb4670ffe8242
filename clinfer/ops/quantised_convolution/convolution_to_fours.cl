// Turns planar data of few channels, multiples of a step, into bytes (number / step + zero point), for CPUs.
// One work-item goes along rows (tile_runs.h) of pixels of four channels. Views: data [B, C, 1, Y, X], bytes [B, C / 4,
// Y, X, 4], of which the data begin at row ARG_PAD_Y, pixel ARG_PAD_X, and what lies outside of them is the zero point;
// grid [1, 3]: 1 / step, zero point, step. Data that are stored as bytes are copied. Channels that do not exist are
// anything.
#include "clinfer.cl"

#include "shared/spatial.h"
#include "shared/tile_runs.h"

#define STRIP 16

// `count` pixels of a channel, 16 at most.
INLINED uchar16 FUNC(strip)(const global INPUT0_TYPE* input, const index_t from, const int count, const float factor,
                            const float zero ARGS) {
#ifdef INPUT0_IS_Q8
    if (INPUT0_PITCH_LAST == 1 && count == STRIP) return vload16(0, input + from);
#else
    if (INPUT0_PITCH_LAST == 1 && count == STRIP)
        return clinfer_to_bytes16(fma(INPUT0_LOAD16(input, from), factor, zero));
#endif
    uchar bytes[STRIP] = {0};
    for (int i = 0; i < count; ++i)
        bytes[i] = convert_uchar_sat_rte(fma(INPUT0_LOAD(input, from + i * INPUT0_PITCH_LAST), factor, zero));
    return vload16(0, bytes);
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_to_fours)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict grid,
                             global SCRATCH0_TYPE* restrict bytes ARGS) {
    const int block = get_global_id(1), batch = get_global_id(2), width = SCRATCH0_SIZE_3;
    const int channels = min((int)INPUT0_SIZE_1 - block * 4, 4);
    const float factor = INPUT1_LOAD(grid, INPUT1_OFFSET), zero = INPUT1_LOAD(grid, INPUT1_OFFSET + 1);
    const uchar4 outside = convert_uchar_sat_rte(zero);
    EACH_TILE_OF_RUN(0, y, SCRATCH0_SIZE_2) {
        const int from_y = y - ARG_PAD_Y;
        const int at[MAX_RANK] = {batch, block * 4, 0, from_y, 0}, to[MAX_RANK] = {batch, block, y, 0, 0};
        const index_t from = INPUT0_INDEX_OF(at) - ARG_PAD_X * INPUT0_PITCH_LAST;
        global uchar* packed = (global uchar*)bytes + SCRATCH0_INDEX_OF(to);
        const int begin = IS_ON_AXIS(from_y, INPUT0_SIZE_Y) ? clamp((int)ARG_PAD_X, 0, width) : width;
        const int end = clamp((int)(ARG_PAD_X + INPUT0_SIZE_X), begin, width);
        for (int x = 0; x < begin; ++x) vstore4(outside, x, packed);
        for (int x = begin; x < end; x += STRIP) {
            const int count = min(STRIP, end - x);
            uint16 four = 0;
            for (int c = 0; c < channels; ++c)
                four |= convert_uint16(FUNC(strip)(input, from + c * INPUT0_PITCH_1 + x * INPUT0_PITCH_LAST, count,
                                                   factor, zero PASS_ARGS)) << (8 * c);
            if (count == STRIP) {
                vstore16(four, 0, (global uint*)(packed + x * 4));
                continue;
            }
            uint left[STRIP];
            vstore16(four, 0, left);
            for (int i = 0; i < count; ++i) vstore4(as_uchar4(left[i]), x + i, packed);
        }
        for (int x = end; x < width; ++x) vstore4(outside, x, packed);
    }
}
