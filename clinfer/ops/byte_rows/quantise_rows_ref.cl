// Rows of floats as bytes: of each row [..., E] the output [..., E + 8] has round((x - least) / step), then step and
// least as floats, where step is a 255th of the greatest element minus the least. Any rank and float type; the last
// axis of the output is contiguous. One work-item makes one row; work-groups of LOCAL, the last of which is not full.
#include "clinfer.cl"

#ifndef LOCAL
#define LOCAL 1
#endif

#include "shared/byte_rows.h"

#define LEVELS 255
#define LIES_TOGETHER (INPUT0_PITCH_LAST == 1)

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(quantise_rows_ref)(const global INPUT0_TYPE* restrict data, global uchar* restrict output ARGS) {
    const index_t first = (index_t)get_global_id(0) * OUTPUT0_SIZE_LAST;
    if (first >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(first, at);
    const index_t from = INPUT0_INDEX_OF(at), size = INPUT0_SIZE_LAST;
    const index_t vectors = LIES_TOGETHER ? size / 16 : 0;
    global uchar* to = output + OUTPUT0_INDEX_OF(at);

    float16 lows = INFINITY, highs = -INFINITY;
    for (index_t v = 0; v < vectors; ++v) {
        const float16 x = convert_float16(INPUT0_LOAD16(data, from + 16 * v));
        lows = fmin(lows, x);
        highs = fmax(highs, x);
    }
    float least = INFINITY, greatest = -INFINITY, ends[32];
    vstore16(lows, 0, ends);
    vstore16(highs, 1, ends);
    for (int i = 0; i < 16; ++i) {
        least = fmin(least, ends[i]);
        greatest = fmax(greatest, ends[16 + i]);
    }
    for (index_t i = 16 * vectors; i < size; ++i) {
        const float x = INPUT0_LOAD(data, from + i * INPUT0_PITCH_LAST);
        least = fmin(least, x);
        greatest = fmax(greatest, x);
    }

    const float step = (greatest - least) / LEVELS, steps = 1 / fmax(step, FLT_MIN);
    for (index_t v = 0; v < vectors; ++v)
        vstore16(convert_uchar16_sat_rte((convert_float16(INPUT0_LOAD16(data, from + 16 * v)) - least) * steps), v, to);
    for (index_t i = 16 * vectors; i < size; ++i)
        to[i] = convert_uchar_sat_rte(((float)INPUT0_LOAD(data, from + i * INPUT0_PITCH_LAST) - least) * steps);
    vstore4(as_uchar4(step), 0, to + size);
    vstore4(as_uchar4(least), 1, to + size);
}
