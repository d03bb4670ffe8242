// Between which pixels places of a grid lie, and how much each of these weighs: of WIDE (1 or 16) places at once.
// MODE: 0 bilinear, 1 bicubic, 2 nearest. PADDING: 0 zeros, 1 border, 2 reflection.
#if WIDE == 16
#define FLOATS float16
#define INTS int16
#define TO_INTS convert_int16_sat
#else
#define FLOATS float
#define INTS int
#define TO_INTS convert_int_sat
#endif

#define FAR 1073741823

#if MODE == 0
#define TAPS 2
#elif MODE == 1
#define TAPS 4
#else
#define TAPS 1
#endif

// Which pixels are read in place of those that may lie outside.
INLINED INTS FUNC(within)(const INTS pixel, const int size) {
#if PADDING == 2 && ALIGN_CORNERS
    const int period = max(2 * (size - 1), 1);
    const INTS rest = max(pixel, -pixel) % period;
    return select(rest, period - rest, rest >= size);
#elif PADDING == 2
    const int period = 2 * size;
    const INTS rest = (pixel % period + period) % period;
    return select(rest, period - 1 - rest, rest >= size);
#else
    return clamp(pixel, 0, size - 1);
#endif
}

INLINED INTS FUNC(whole)(const FLOATS value) {
    return clamp(TO_INTS(value), -FAR, FAR);
}

// The pixels of one axis, of `size`, around places of the grid, whether they count, and their weights. In place of
// those that do not count are neighbours that do, if there are any.
INLINED void FUNC(taps)(const FLOATS place, const int size, INTS* pixel, INTS* counts, FLOATS* weight) {
    const FLOATS at = ALIGN_CORNERS ? (place + 1) * 0.5f * (size - 1) : ((place + 1) * size - 1) * 0.5f;
    const INTS first = FUNC(whole)(MODE == 2 ? rint(at) : floor(at)) - (TAPS - 1) / 2;
    for (int tap = 0; tap < TAPS; ++tap) {
        counts[tap] = PADDING != 0 || (first + tap >= 0 && first + tap < size);
        pixel[tap] = FUNC(within)(first + tap, size);
    }
#if MODE == 2
    weight[0] = 1;
#else
    const FLOATS rest = at - floor(at), near = 1 - rest;
#if MODE == 0
    weight[0] = near;
    weight[1] = rest;
#else
    // As products that vanish where a weight does: sums of powers would leave noise of the size of 1 there.
    const float a = -0.75f;
    weight[0] = a * rest * near * near;
    weight[1] = near * (1 + rest - (a + 2) * rest * rest);
    weight[2] = rest * (1 + near - (a + 2) * near * near);
    weight[3] = a * near * rest * rest;
#endif
#endif
}
