// Matrix product of many rows with compressed weights, for CPUs.
// One work-item computes ARG_TILES tiles (at most MOST_TILES) of TILE_ROWS rows each x one panel of 32 columns. It
// goes through K in steps of BLOCK_DEPTH: that block of the panel is decompressed into `panel`, then each tile
// multiplies it, while the sums of the others wait in `totals`. So weights are decompressed once for all tiles, and
// the block stays in a cache.
// Views: those of matmul_tile.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define MOST_TILES 8
#define ARG_TILES 8
#endif

#include "shared/bias.h"
#include "weights.h"
#include "tile.h"

#ifndef BLOCK_DEPTH
#define BLOCK_DEPTH 512
#endif
#define TILE_SIZE (TILE_ROWS * PANEL_COLUMNS)

// Adds the products of `depth` k to the sums of a tile whose rows start at element `start` of the left side.
void FUNC(add_products)(float* totals, const float* panel, const global INPUT0_TYPE* left, const index_t start,
                        const int last_row, const int depth ARGS) {
    float16 sum[TILE_ROWS][VECTORS];
    float rows[TILE_ROWS * PANEL_DEPTH];
    #pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i)
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j) sum[i][j] = vload16(i * VECTORS + j, totals);
    for (int base = 0; base < depth; base += PANEL_DEPTH) {
        const int count = min(PANEL_DEPTH, depth - base);
        FUNC(fill_rows)(rows, left, start + base * INPUT0_PITCH_X, last_row, count PASS_ARGS);
        for (int k = 0; k < count; ++k) {
            float16 column[VECTORS];
            #pragma unroll
            for (int j = 0; j < VECTORS; ++j) column[j] = vload16((base + k) * VECTORS + j, panel);
            #pragma unroll
            for (int i = 0; i < TILE_ROWS; ++i) {
                const float16 value = rows[i * PANEL_DEPTH + k];
                #pragma unroll
                for (int j = 0; j < VECTORS; ++j) sum[i][j] = fma(value, column[j], sum[i][j]);
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i)
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j) vstore16(sum[i][j], i * VECTORS + j, totals);
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_blocks)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                      WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * ARG_TILES * TILE_ROWS, panel_index = get_global_id(1);
    const int tiles = min((int)ARG_TILES, CEIL_DIV((int)OUTPUT0_SIZE_Y - first_row, TILE_ROWS));
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    at[OUTPUT0_RANK - 2] = panel_index;
    index_t from = INPUT1_INDEX_OF(at);
    at[OUTPUT0_RANK - 2] = first_row;
    const index_t start = INPUT0_INDEX_OF(at);

    float panel[BLOCK_DEPTH * PANEL_COLUMNS], totals[MOST_TILES * TILE_SIZE];
    for (int i = 0; i < tiles * TILE_SIZE; i += 16) vstore16((float16)0.0f, 0, totals + i);
    for (int base = 0; base < INPUT0_SIZE_X; base += BLOCK_DEPTH) {
        const int depth = min(BLOCK_DEPTH, (int)INPUT0_SIZE_X - base);
        for (int k = 0; k < depth;) {
            const int end = min(depth, GROUP_END(base + k) - base);
            START_GROUP(base + k, panel_index * PANEL_COLUMNS)
            for (; k < end; ++k) {
                float16 column[VECTORS];
                LOAD_COLUMNS(column, from + k * PANEL_COLUMNS);
                #pragma unroll
                for (int j = 0; j < VECTORS; ++j) vstore16(column[j], k * VECTORS + j, panel);
            }
        }
        for (int tile = 0; tile < tiles; ++tile)
            FUNC(add_products)(totals + tile * TILE_SIZE, panel, left,
                               start + tile * TILE_ROWS * INPUT0_PITCH_Y + base * INPUT0_PITCH_X,
                               OUTPUT0_SIZE_Y - 1 - first_row - tile * TILE_ROWS, depth PASS_ARGS);
        from += BLOCK_DEPTH * PANEL_COLUMNS;
    }
    for (int tile = 0; tile < tiles; ++tile)
        FUNC(store_rows)(totals + tile * TILE_SIZE, at, first_row + tile * TILE_ROWS,
                         panel_index * PANEL_COLUMNS, PASS_BIAS output PASS_ARGS);
}
