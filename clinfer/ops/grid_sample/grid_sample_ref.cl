// Samples pictures [n, c, h, w] at the places of a grid [n, h', w', 2]; any layout and type. One work-item
// computes CHANNELS channels of one place of the output. Dimension 0: places, 1: groups of channels.
// MODE: 0 bilinear, 1 bicubic, 2 nearest. PADDING: 0 zeros, 1 border, 2 reflection.
#include "clinfer.cl"

#ifndef CHANNELS
#define CHANNELS 8
#define MODE 0
#define PADDING 0
#define ALIGN_CORNERS 0
#endif

#define FAR 1073741823

// A coordinate of the grid in pixels.
float FUNC(pixels)(float place, int size) {
    return ALIGN_CORNERS ? (place + 1) * 0.5f * (size - 1) : ((place + 1) * size - 1) * 0.5f;
}

// Where a pixel is read, or -1 for one that counts as 0.
int FUNC(inside)(int pixel, int size) {
#if PADDING == 1
    return clamp(pixel, 0, size - 1);
#elif PADDING == 2
    if (ALIGN_CORNERS) {
        const int period = max(2 * (size - 1), 1);
        const int rest = abs(pixel) % period;
        return rest >= size ? period - rest : rest;
    }
    const int period = 2 * size;
    const int rest = (pixel % period + period) % period;
    return rest >= size ? period - 1 - rest : rest;
#else
    return pixel >= 0 && pixel < size ? pixel : -1;
#endif
}

int FUNC(whole)(float value) {
    return clamp(convert_int_sat(value), -FAR, FAR);
}

#if MODE == 1
#define TAPS 4
// As products that vanish where a weight does: sums of powers would leave noise of the size of 1 there.
void FUNC(weights)(float rest, float* weight) {
    const float a = -0.75f, near = 1 - rest;
    weight[0] = a * rest * near * near;
    weight[1] = near * (1 + rest - (a + 2) * rest * rest);
    weight[2] = rest * (1 + near - (a + 2) * near * near);
    weight[3] = a * near * rest * rest;
}
#elif MODE == 0
#define TAPS 2
void FUNC(weights)(float rest, float* weight) {
    weight[0] = 1 - rest;
    weight[1] = rest;
}
#else
#define TAPS 1
#endif

KERNEL(grid_sample_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict grid,
                        global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_SIZE_B * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X) return;
    const index_t x_out = item % OUTPUT0_SIZE_X, rest = item / OUTPUT0_SIZE_X;
    const index_t y_out = rest % OUTPUT0_SIZE_Y, batch = rest / OUTPUT0_SIZE_Y;
    const float x = FUNC(pixels)(INPUT1_LOAD(grid, INPUT1_GET_INDEX(batch, y_out, x_out, 0)), INPUT0_SIZE_X);
    const float y = FUNC(pixels)(INPUT1_LOAD(grid, INPUT1_GET_INDEX(batch, y_out, x_out, 1)), INPUT0_SIZE_Y);
    int columns[TAPS], rows[TAPS];
    float x_weights[TAPS], y_weights[TAPS];
#if MODE == 2
    columns[0] = FUNC(inside)(FUNC(whole)(rint(x)), INPUT0_SIZE_X);
    rows[0] = FUNC(inside)(FUNC(whole)(rint(y)), INPUT0_SIZE_Y);
    x_weights[0] = y_weights[0] = 1;
#else
    FUNC(weights)(x - floor(x), x_weights);
    FUNC(weights)(y - floor(y), y_weights);
    for (int tap = 0; tap < TAPS; ++tap) {
        columns[tap] = FUNC(inside)(FUNC(whole)(floor(x)) + tap - TAPS / 2 + 1, INPUT0_SIZE_X);
        rows[tap] = FUNC(inside)(FUNC(whole)(floor(y)) + tap - TAPS / 2 + 1, INPUT0_SIZE_Y);
    }
#endif
    const index_t first = (index_t)get_global_id(1) * CHANNELS, end = min(first + CHANNELS, OUTPUT0_SIZE_F);
    for (index_t channel = first; channel < end; ++channel) {
        float sum = 0;
        for (int i = 0; i < TAPS; ++i) {
            if (rows[i] < 0) continue;
            float line = 0;
            for (int j = 0; j < TAPS; ++j) {
                if (columns[j] < 0) continue;
                line += x_weights[j] * (float)INPUT0_LOAD(input, INPUT0_GET_INDEX(batch, channel, rows[i], columns[j]));
            }
            sum += y_weights[i] * line;
        }
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(batch, channel, y_out, x_out), (OUTPUT0_COMPUTE)sum);
    }
}
