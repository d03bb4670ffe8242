// Samples pictures [n, c, h, w] at the places of a grid [n, h', w', 2], all planar. One work-item works out where RUNS
// times 16 places lie, as vectors, and then reads CHANNELS planes there, one after the other: what it reads of one
// stays in the nearest cache. Dimension 0: places, 1: pictures, 2: groups of channels.
#include "clinfer.cl"

#ifndef CHANNELS
#define CHANNELS 32
#define RUNS 8
#define MODE 0
#define PADDING 0
#define ALIGN_CORNERS 0
#endif

#define WIDE 16
#include "taps.h"

#define PLACES (RUNS * WIDE)

KERNEL(grid_sample_runs)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict grid,
                         global OUTPUT0_TYPE* restrict output ARGS) {
    const int first = (int)get_global_id(0) * PLACES, batch = get_global_id(1);
    const int count = min(PLACES, OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X - first), runs = CEIL_DIV(count, WIDE);
    int x_out = first % OUTPUT0_SIZE_X, y_out = first / OUTPUT0_SIZE_X, target[PLACES];
    int pixels[TAPS * TAPS][PLACES], is_inside[PLACES];
    float weights[TAPS * TAPS][PLACES];
    for (int run = 0; run < runs; ++run) {
        float x_places[WIDE], y_places[WIDE];
        for (int n = 0; n < WIDE; ++n) {
            x_places[n] = INPUT1_LOAD(grid, INPUT1_GET_INDEX(batch, y_out, x_out, 0));
            y_places[n] = INPUT1_LOAD(grid, INPUT1_GET_INDEX(batch, y_out, x_out, 1));
            target[run * WIDE + n] = OUTPUT0_GET_INDEX(batch, 0, y_out, x_out);
            if (run * WIDE + n + 1 < count && ++x_out == OUTPUT0_SIZE_X) {
                x_out = 0;
                ++y_out;
            }
        }
        int16 columns[TAPS], rows[TAPS], has_column[TAPS], has_row[TAPS], some_column = 0, some_row = 0;
        float16 x_weights[TAPS], y_weights[TAPS];
        FUNC(taps)(vload16(0, x_places), INPUT0_SIZE_X, columns, has_column, x_weights);
        FUNC(taps)(vload16(0, y_places), INPUT0_SIZE_Y, rows, has_row, y_weights);
        for (int i = 0; i < TAPS; ++i) {
            some_row |= has_row[i];
            some_column |= has_column[i];
            for (int j = 0; j < TAPS; ++j) {
                const int tap = i * TAPS + j;
                vstore16(rows[i] * (int)INPUT0_PITCH_Y + columns[j] * (int)INPUT0_PITCH_X, run, pixels[tap]);
                vstore16(select((float16)0, y_weights[i] * x_weights[j], has_row[i] && has_column[j]), run,
                         weights[tap]);
            }
        }
        vstore16(some_row && some_column, run, is_inside);
    }
    const int first_channel = (int)get_global_id(2) * CHANNELS;
    const int end = min(first_channel + CHANNELS, (int)OUTPUT0_SIZE_F);
    for (int channel = first_channel; channel < end; ++channel) {
        const global INPUT0_TYPE* from = input + INPUT0_GET_INDEX(batch, channel, 0, 0);
        global OUTPUT0_TYPE* to = output + channel * OUTPUT0_PITCH_F;
        for (int n = 0; n < count; ++n) {
            float sum = 0;
            for (int tap = 0; tap < TAPS * TAPS; ++tap)
                sum += weights[tap][n] * (float)INPUT0_LOAD(from, pixels[tap][n]);
            OUTPUT0_STORE(to, target[n], (OUTPUT0_COMPUTE)(is_inside[n] ? sum : 0));
        }
    }
}
