// Transposed convolution to few output channels, from b_fs_yx_fsv16 (or b_fs_zyx_fsv16) to planar, for CPUs.
// The places of the full output are cut into cells of stride x stride x stride; a cell's outputs, all channels
// of it, are the lanes of one float16: lane ((pz * STRIDE_Y + py) * STRIDE_X + px) * O + o. All lanes of a cell
// read the same data. One work-item computes RUN cells of one row of cells, TILE_PIXELS at a time. It first
// copies the weights into `table`, one float16 for each of the data's pixels that a cell reads (CELLS_Z x
// CELLS_Y x CELLS_X) and input channel, in which lanes that this pixel does not reach are zero.
// Dimension 0: runs; 1: rows of cells; 2: batch.
// Views: data and output [B, C, Z, Y, X], weights [1, O, I, Z, Y, X], bias [O].
// Limits: STRIDE_Z * STRIDE_Y * STRIDE_X * O is at most 16; the table has at most TABLE_VECTORS vectors.
#include "clinfer.cl"

#ifndef TILE_PIXELS
#define TILE_PIXELS 14
#define RUN 112
#define TABLE_VECTORS 512
#define STRIDE_Z 1
#define STRIDE_Y 2
#define STRIDE_X 2
#define DILATION_Z 1
#define DILATION_Y 1
#define DILATION_X 1
#define CELLS_Z 1
#define CELLS_Y 1
#define CELLS_X 1
#endif

#include "shared/bias.h"
#include "shared/spatial.h"

#define BLOCK 16
#define PANEL_PIXELS (TILE_PIXELS + CELLS_X - 1)

// The weights as [CELLS_Z, CELLS_Y, CELLS_X, I] vectors, one lane per output of a cell.
void FUNC(fill_table)(float* table, const global INPUT1_TYPE* weights ARGS) {
    const int inputs = INPUT1_SIZE_2;
    for (int i = 0; i < CELLS_Z * CELLS_Y * CELLS_X * inputs; ++i) vstore16((float16)0.0f, i, table);
    for (int kz = 0; kz < INPUT1_SIZE_Z; ++kz) {
        const int z = kz * DILATION_Z;
        for (int ky = 0; ky < INPUT1_SIZE_Y; ++ky) {
            const int y = ky * DILATION_Y;
            for (int kx = 0; kx < INPUT1_SIZE_X; ++kx) {
                const int x = kx * DILATION_X;
                const int cell = (z / STRIDE_Z * CELLS_Y + y / STRIDE_Y) * CELLS_X + x / STRIDE_X;
                const int phase = (z % STRIDE_Z * STRIDE_Y + y % STRIDE_Y) * STRIDE_X + x % STRIDE_X;
                float* to = table + cell * inputs * BLOCK + phase * INPUT1_SIZE_1;
                for (int o = 0; o < INPUT1_SIZE_1; ++o) {
                    int at[MAX_RANK] = {0, o, 0, kz, ky, kx};
                    for (at[2] = 0; at[2] < inputs; ++at[2])
                        to[at[2] * BLOCK + o] = INPUT1_LOAD(weights, INPUT1_INDEX_OF(at));
                }
            }
        }
    }
}

// Adds the products of the tile whose first cell is `first`. `row_z` and `row_y` are the row of cells.
void FUNC(add_products)(float16* sum, const float* table, const global INPUT0_TYPE* input, const int batch,
                        const int row_z, const int row_y, const int first ARGS) {
    float panel[PANEL_PIXELS * BLOCK];
    for (int c = 0; c < INPUT1_SIZE_2; c += BLOCK) {
        const int channels = min(BLOCK, INPUT1_SIZE_2 - c);
        for (int cell = 0; cell < CELLS_Z * CELLS_Y; ++cell) {
            const int z = row_z - cell / CELLS_Y, y = row_y - cell % CELLS_Y;
            if ((uint)z >= (uint)INPUT0_SIZE_Z || (uint)y >= (uint)INPUT0_SIZE_Y) continue;
            const int from[MAX_RANK] = {batch, c, z, y, 0};
            const int row = INPUT0_INDEX_OF(from);
            for (int i = 0; i < PANEL_PIXELS; ++i) {
                const int x = first + i - (CELLS_X - 1);
                vstore16((uint)x < (uint)INPUT0_SIZE_X ? INPUT0_LOAD16(input, row + x * BLOCK) : (float16)0.0f, i,
                         panel);
            }
            for (int kx = 0; kx < CELLS_X; ++kx) {
                const float* pixels = panel + (CELLS_X - 1 - kx) * BLOCK;
                const float* filter = table + ((cell * CELLS_X + kx) * INPUT1_SIZE_2 + c) * BLOCK;
                for (int k = 0; k < channels; ++k) {
                    const float16 weight = vload16(k, filter);
                    #pragma unroll
                    for (int i = 0; i < TILE_PIXELS; ++i) sum[i] = fma((float16)pixels[i * BLOCK + k], weight, sum[i]);
                }
            }
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(deconvolution_few)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict weights,
                          BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int rows = (OUTPUT0_SIZE_Y - 1 + ARG_PAD_Y) / STRIDE_Y - ARG_PAD_Y / STRIDE_Y + 1;
    const int row_y = (int)get_global_id(1) % rows + ARG_PAD_Y / STRIDE_Y;
    const int row_z = (int)get_global_id(1) / rows + ARG_PAD_Z / STRIDE_Z;
    const int first_cell = ARG_PAD_X / STRIDE_X + (int)get_global_id(0) * RUN;
    const int end_cell = min(first_cell + RUN, (OUTPUT0_SIZE_X - 1 + ARG_PAD_X) / STRIDE_X + 1);

    float table[TABLE_VECTORS * BLOCK];
    FUNC(fill_table)(table, weights PASS_ARGS);
    for (int first = first_cell; first < end_cell; first += TILE_PIXELS) {
        float16 sum[TILE_PIXELS];
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i) sum[i] = 0.0f;
        FUNC(add_products)(sum, table, input, get_global_id(2), row_z, row_y, first PASS_ARGS);

        float results[TILE_PIXELS * BLOCK];
        #pragma unroll
        for (int i = 0; i < TILE_PIXELS; ++i) vstore16(sum[i], i, results);
        for (int phase = 0; phase < STRIDE_Z * STRIDE_Y; ++phase) {
            const int z = row_z * STRIDE_Z + phase / STRIDE_Y - ARG_PAD_Z;
            const int y = row_y * STRIDE_Y + phase % STRIDE_Y - ARG_PAD_Y;
            if ((uint)z >= (uint)OUTPUT0_SIZE_Z || (uint)y >= (uint)OUTPUT0_SIZE_Y) continue;
            for (int o = 0; o < INPUT1_SIZE_1; ++o) {
                int at[MAX_RANK] = {get_global_id(2), o, z, y, 0};
                const int to = OUTPUT0_INDEX_OF(at);
                float start = 0.0f;
                ADD_BIAS(start, o);
                for (int i = 0; i < TILE_PIXELS; ++i) {
                    for (int px = 0; px < STRIDE_X; ++px) {
                        const int x = (first + i) * STRIDE_X + px - ARG_PAD_X;
                        if ((uint)x < (uint)OUTPUT0_SIZE_X) {
                            float result = results[i * BLOCK + (phase * STRIDE_X + px) * INPUT1_SIZE_1 + o] + start;
                            at[4] = x;
                            FUSED_OPS(result, at)
                            OUTPUT0_STORE(output, to + x, result);
                        }
                    }
                }
            }
        }
    }
}
