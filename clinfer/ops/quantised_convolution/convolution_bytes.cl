// Convolution of bytes with weights of i8, for CPUs, of one group and two spatial axes at most.
// One work-item computes TILE_ROWS pixels, which follow each other in rows of the output, x ARG_PANELS panels of 32
// output channels (MOST_PANELS at most). It goes through the products of a pixel in steps of DEPTH: the blocks of 16
// channels that each filter element meets are gathered, the zero point where it meets none. Products are added up
// exactly, and the sum is scaled at the end.
// Views: data [B, blocks, Y, X, 16] (convolution_to_bytes.cl), output [B, C, 1, Y, X] in blocks of 16 channels; weights
// [panels, blocks, y, x, 4, 32, 4]; scales [O], what sums start with [O] and bias [O] in blocks of 16; grid [1, 3]:
// 1 / step, zero point, step.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define MOST_PANELS 4
#define ARG_PANELS 1
#define ARG_CHANNELS 16
#define ARG_FILTER_Y 1
#define ARG_FILTER_X 1
#define START_LOAD16(p, i) vload16(0, (p) + (i))
#define START_TYPE int
#define START_OFFSET 0
#endif

#include "shared/bias.h"
#include "shared/spatial.h"
#include "shared/byte_products.h"
#include "pixels.h"

#define DEPTH 1024
#define STEP_BYTES 512

// A place among the products of a pixel: a block of channels and a filter element.
typedef struct {
    int block, y, x;
} FUNC(Tap);

// Gathers `count` blocks of every pixel from `tap` on, which moves on; `rows` and `columns` are where the filters of
// the pixels begin.
void FUNC(gather)(uchar* to, const global uchar* data, FUNC(Tap)* tap, const int* rows, const int* columns,
                  const int count, const int batch, const uchar zero ARGS) {
    for (int step = 0; step < count; ++step) {
        const global uchar* block = data + INPUT0_OFFSET + batch * INPUT0_PITCH_0 + tap->block * INPUT0_PITCH_1;
        const uchar16 outside = (uchar16)zero & FUNC(existing)(ARG_CHANNELS - tap->block * BLOCK);
        for (int i = 0; i < TILE_ROWS; ++i) {
            const int y = rows[i] + tap->y * ARG_DILATION_Y, x = columns[i] + tap->x * ARG_DILATION_X;
            const bool is_inside = (uint)y < (uint)INPUT0_SIZE_2 && (uint)x < (uint)INPUT0_SIZE_3;
            const int from = y * INPUT0_PITCH_2 + x * INPUT0_PITCH_3;
            vstore16(is_inside ? vload16(0, block + from) : outside, 0, to + i * ROW_BYTES + step * BLOCK);
        }
        if (++tap->x == ARG_FILTER_X) {
            tap->x = 0;
            if (++tap->y == ARG_FILTER_Y) {
                tap->y = 0;
                ++tap->block;
            }
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(convolution_bytes)(const global INPUT0_TYPE* restrict data, const global INPUT1_TYPE* restrict weights,
                          const global INPUT2_TYPE* restrict scale, const global START_TYPE* restrict start_sums,
                          const global INPUT3_TYPE* restrict grid, BIAS_PARAMETER
                          global OUTPUT0_TYPE* restrict output ARGS) {
    const int first = (int)get_global_id(0) * TILE_ROWS, first_panel = (int)get_global_id(1) * ARG_PANELS;
    const int batch = get_global_id(2), outputs = OUTPUT0_SIZE_1, width = OUTPUT0_SIZE_X;
    const int pixels = min(TILE_ROWS, (int)OUTPUT0_SIZE_Y * width - first);
    const int panels = min((int)ARG_PANELS, (outputs + 31) / 32 - first_panel);
    const int steps = INPUT0_SIZE_1 * ARG_FILTER_Y * ARG_FILTER_X;
    const global char* columns = (const global char*)weights + first_panel * steps * STEP_BYTES;

    int from_y[TILE_ROWS], from_x[TILE_ROWS];
    for (int i = 0; i < TILE_ROWS; ++i) {
        const int pixel = first + min(i, pixels - 1);
        from_y[i] = pixel / width * ARG_STRIDE_Y - ARG_PAD_Y;
        from_x[i] = pixel % width * ARG_STRIDE_X - ARG_PAD_X;
    }

    int sums[MOST_PANELS][TILE_ROWS * 32];
    for (int p = 0; p < panels; ++p)
        for (int j = 0; j < 2; ++j) {
            const int channel = (first_panel + p) * 32 + j * BLOCK;
            int16 begin = 0;
            if (channel < outputs) begin = START_LOAD16(start_sums, START_OFFSET + channel);
            for (int i = 0; i < TILE_ROWS; ++i) vstore16(begin, i * 2 + j, sums[p]);
        }

    uchar rows[TILE_ROWS * ROW_BYTES];
    FUNC(Tap) tap = {0, 0, 0};
    const uchar zero = convert_uchar_sat_rte(INPUT3_LOAD(grid, INPUT3_OFFSET + 1));
    for (int base = 0; base < steps; base += DEPTH / BLOCK) {
        const int count = min(DEPTH / BLOCK, steps - base);
        FUNC(gather)(rows, (const global uchar*)data, &tap, from_y, from_x, count, batch, zero PASS_ARGS);
        for (int p = 0; p < panels; ++p)
            FUNC(add_byte_products)(sums[p], rows, columns + (p * steps + base) * STEP_BYTES, count * (BLOCK / 4));
    }

    const float step = INPUT3_LOAD(grid, INPUT3_OFFSET + 2);
    for (int channel = first_panel * 32; channel < min(outputs, (first_panel + panels) * 32); channel += BLOCK) {
        const float16 unit = INPUT2_LOAD16(scale, INPUT2_OFFSET + channel) * step, bias16 = BIAS16(channel);
        const int* part = sums[channel / 32 - first_panel] + channel % 32;
        for (int i = 0; i < pixels; ++i) {
            int at[MAX_RANK] = {batch, channel, 0, (first + i) / width, (first + i) % width};
            OUTPUT0_COMPUTE16 result = fma(convert_float16(vload16(i * 2, part)), unit, bias16);
            FUSED_OPS16(result, at, 1)
            OUTPUT0_STORE16(output, OUTPUT0_INDEX_OF(at), result);
        }
    }
}
