// Matrix product of rows of bf16 with compressed weights by products of pairs (float_products.h), for x86 CPUs.
// One work-item computes ARG_TILES tiles (at most MOST_TILES) of TILE_ROWS rows each (float_rows.h) x one panel of 32
// columns. It goes through K in steps of BLOCK_DEPTH: that block of the panel is decompressed into `panel`, in pairs,
// then each tile multiplies it. So weights are decompressed once for all tiles, and the block stays in a cache.
// Views: those of matmul_tile.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 14
#define MOST_TILES 8
#define ARG_TILES 8
#define BLOCK_DEPTH 512
#endif

#include "shared/bias.h"
#include "shared/float_products.h"
#include "weights.h"
#include "tile.h"
#include "float_rows.h"

#define PAIRS (BLOCK_DEPTH / 2)

// Decompresses `depth` k of a panel, from `k0` and index `from` on: [2 halves of the columns][PAIRS][16] pairs, with
// zeros up to the next step.
void FUNC(fill_panel)(uint* panel, const global INPUT1_TYPE* right, WEIGHTS_PARAMETERS const index_t from, const int k0,
                      const int depth, const int first_column ARGS) {
    uint16 first[VECTORS] = {0, 0};
    for (int k = 0; k < depth;) {
        const int end = min(depth, GROUP_END(k0 + k) - k0);
        START_GROUP(k0 + k, first_column)
        for (; k < end; ++k) {
            float16 column[VECTORS];
            LOAD_COLUMNS(column, from + (index_t)k * PANEL_COLUMNS);
            #pragma unroll
            for (int j = 0; j < VECTORS; ++j) {
                const uint16 bits = convert_uint16(clinfer_to_bf16_16(column[j]));
                if (k % 2)
                    vstore16(first[j] | bits << 16, j * PAIRS + k / 2, panel);
                else
                    first[j] = bits;
            }
        }
    }
    for (int k = depth; k % STEP_DEPTH; ++k)
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j)
            if (k % 2)
                vstore16(k == depth ? first[j] : (uint16)0, j * PAIRS + k / 2, panel);
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_blocks_bf16)(const global ushort* restrict left, const global INPUT1_TYPE* restrict right,
                           WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * ARG_TILES * TILE_ROWS, panel_index = get_global_id(1);
    const int tiles = min((int)ARG_TILES, CEIL_DIV((int)OUTPUT0_SIZE_Y - first_row, TILE_ROWS));
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    at[OUTPUT0_RANK - 2] = panel_index;
    const index_t from = INPUT1_INDEX_OF(at);
    at[OUTPUT0_RANK - 2] = first_row;
    const index_t start = INPUT0_INDEX_OF(at);

    uint panel[VECTORS * PAIRS * 16];
    ulong frames[MOST_TILES * FRAME_WORDS] __attribute__((aligned(64)));
    for (int tile = 0; tile < tiles; ++tile) {
        ulong* frame = frames + tile * FRAME_WORDS;
        BEGIN_FRAME(frame);
        SHARE_SHAPES(frame, frames);
        for (int i = 0; i < TILE_ROWS * VECTORS; ++i) vstore16((float16)0.0f, i, frame_sums(frame));
        frame[OTHER_BYTES] = PAIRS * 16 * sizeof(uint);
        frame[FIRST_BEGINS] = 0;
    }
    for (int k = 0; k < INPUT0_SIZE_X; k += BLOCK_DEPTH) {
        const int depth = min(BLOCK_DEPTH, (int)INPUT0_SIZE_X - k);
        FUNC(fill_panel)(panel, right, PASS_WEIGHTS from + (index_t)k * PANEL_COLUMNS, k, depth,
                         panel_index * PANEL_COLUMNS PASS_ARGS);
        for (int tile = 0; tile < tiles; ++tile)
            FUNC(add_rows)(frames + tile * FRAME_WORDS, left,
                           start + tile * TILE_ROWS * INPUT0_PITCH_Y + k * INPUT0_PITCH_X,
                           OUTPUT0_SIZE_Y - 1 - first_row - tile * TILE_ROWS, depth, (ulong)panel PASS_ARGS);
    }
    END_TILES();
    for (int tile = 0; tile < tiles; ++tile)
        FUNC(store_rows)(frame_sums(frames + tile * FRAME_WORDS), at, first_row + tile * TILE_ROWS,
                         panel_index * PANEL_COLUMNS, PASS_BIAS output PASS_ARGS);
}
