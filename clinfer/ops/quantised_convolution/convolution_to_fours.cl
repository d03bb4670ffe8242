// Turns planar data of few channels, multiples of a step, into bytes (number / step + zero point), for CPUs.
// One work-item goes along a row of pixels of four channels. Views: data [B, C, 1, Y, X], bytes [B, C / 4, Y, X, 4],
// with zeros for channels that do not exist; grid [1, 3]: 1 / step, zero point, step.
#include "clinfer.cl"

#define STRIP 16

// `count` pixels of a channel, 16 at most.
INLINED uchar16 FUNC(strip)(const global INPUT0_TYPE* input, const index_t from, const int count, const float factor,
                            const float zero ARGS) {
    if (INPUT0_PITCH_LAST == 1 && count == STRIP)
        return convert_uchar16_sat_rte(fma(INPUT0_LOAD16(input, from), factor, zero));
    uchar bytes[STRIP] = {0};
    for (int i = 0; i < count; ++i)
        bytes[i] = convert_uchar_sat_rte(fma(INPUT0_LOAD(input, from + i * INPUT0_PITCH_LAST), factor, zero));
    return vload16(0, bytes);
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_to_fours)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict grid,
                             global SCRATCH0_TYPE* restrict bytes ARGS) {
    const int y = get_global_id(0), block = get_global_id(1), batch = get_global_id(2);
    const int at[MAX_RANK] = {batch, block * 4, 0, y, 0}, to[MAX_RANK] = {batch, block, y, 0, 0};
    const int channels = min((int)INPUT0_SIZE_1 - block * 4, 4), width = INPUT0_SIZE_LAST;
    const index_t from = INPUT0_INDEX_OF(at);
    global uchar* packed = (global uchar*)bytes + SCRATCH0_INDEX_OF(to);
    const float factor = INPUT1_LOAD(grid, INPUT1_OFFSET), zero = INPUT1_LOAD(grid, INPUT1_OFFSET + 1);
    for (int x = 0; x < width; x += STRIP) {
        const int count = min(STRIP, width - x);
        uchar four[4][STRIP] = {{0}};
        for (int c = 0; c < channels; ++c)
            vstore16(FUNC(strip)(input, from + c * INPUT0_PITCH_1 + x * INPUT0_PITCH_LAST, count, factor,
                                 zero PASS_ARGS), 0, four[c]);
        for (int i = 0; i < count; ++i)
            vstore4((uchar4)(four[0][i], four[1][i], four[2][i], four[3][i]), x + i, packed);
    }
}
