// Scales the sums of a tile and stores them, for CPUs. `sums` are those of panels of channels from `channel` up to
// `end` and of `pixels` pixels, which follow one another from (y, x) on in rows of `width`, of which the output may
// have fewer. scales [O], what sums start with [O] and bias [O] are in blocks of 16 channels, as the output is.
#ifndef START_LOAD16
#define START_LOAD16(p, i) vload16(0, (p) + (i))
#define START_TYPE int
#define START_OFFSET 0
#endif

void FUNC(store_sums)(const int* sums, const global INPUT2_TYPE* scale, const global START_TYPE* start_sums,
                      const float step, BIAS_PARAMETER global OUTPUT0_TYPE* output, const int batch, int channel,
                      const int end, const int y, const int x, const int width, const int pixels ARGS) {
    const int first_panel = channel / PANEL_COLUMNS;
    for (; channel < end; channel += BLOCK) {
        const float16 unit = INPUT2_LOAD16(scale, INPUT2_OFFSET + channel) * step, bias16 = BIAS16(channel);
        const int16 begin = START_LOAD16(start_sums, START_OFFSET + channel);
        const int* part = sums + (channel / PANEL_COLUMNS - first_panel) * PANEL_SUMS + channel % PANEL_COLUMNS;
        int at[MAX_RANK] = {batch, channel, 0, y, x};
        for (int i = 0; i < pixels; ++i) {
            if (at[4] < OUTPUT0_SIZE_X) {
                const int16 sum = vload16(i * (PANEL_COLUMNS / 16), part) + begin;
                OUTPUT0_COMPUTE16 result = fma(convert_float16(sum), unit, bias16);
                FUSED_OPS16(result, at, 1)
                OUTPUT0_STORE16(output, OUTPUT0_INDEX_OF(at), result);
            }
            if (++at[4] == width) at[4] = 0, ++at[3];
        }
    }
}
