// Samples pictures [n, c, h, w] at the places of a grid [n, h', w', 2]; any layout and type. One work-item
// computes CHANNELS channels of one place of the output. Dimension 0: places, 1: groups of channels.
#include "clinfer.cl"

#ifndef CHANNELS
#define CHANNELS 8
#define MODE 0
#define PADDING 0
#define ALIGN_CORNERS 0
#endif

#define WIDE 1
#include "taps.h"

KERNEL(grid_sample_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict grid,
                        global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_SIZE_B * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X) return;
    const index_t x_out = item % OUTPUT0_SIZE_X, rest = item / OUTPUT0_SIZE_X;
    const index_t y_out = rest % OUTPUT0_SIZE_Y, batch = rest / OUTPUT0_SIZE_Y;
    int columns[TAPS], rows[TAPS], has_column[TAPS], has_row[TAPS];
    float x_weights[TAPS], y_weights[TAPS];
    const float x = INPUT1_LOAD(grid, INPUT1_GET_INDEX(batch, y_out, x_out, 0));
    const float y = INPUT1_LOAD(grid, INPUT1_GET_INDEX(batch, y_out, x_out, 1));
    FUNC(taps)(x, INPUT0_SIZE_X, columns, has_column, x_weights);
    FUNC(taps)(y, INPUT0_SIZE_Y, rows, has_row, y_weights);
    const index_t first = (index_t)get_global_id(1) * CHANNELS, end = min(first + CHANNELS, OUTPUT0_SIZE_F);
    for (index_t channel = first; channel < end; ++channel) {
        float sum = 0;
        for (int i = 0; i < TAPS; ++i) {
            if (!has_row[i]) continue;
            float line = 0;
            for (int j = 0; j < TAPS; ++j) {
                if (!has_column[j]) continue;
                line += x_weights[j] * (float)INPUT0_LOAD(input, INPUT0_GET_INDEX(batch, channel, rows[i], columns[j]));
            }
            sum += y_weights[i] * line;
        }
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(batch, channel, y_out, x_out), (OUTPUT0_COMPUTE)sum);
    }
}
