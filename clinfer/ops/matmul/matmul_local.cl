// Matrix product through local memory, for GPUs; any type, any pitches.
// A group of 16 x 16 work-items computes a tile of TILE x TILE outputs, OWN x OWN of them each. It goes through
// K in steps of DEPTH: both sides of the tile are copied to local memory (zeros behind the last row, column
// and k), then multiplied from there. A work-item's rows and columns are 16 apart, so that neighbours touch
// neighbouring elements.
// Views, all of one rank: left [..., M, K], right [..., K, N], output [..., M, N]; bias [N].
#include "clinfer.cl"

#ifndef TILE
#define TILE 64
#define LEFT_ALONG_K 1
#define RIGHT_ALONG_K 0
#endif

#include "shared/bias.h"
#include "shared/local_tiles.h"
#include "weights.h"

__attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
KERNEL(matmul_local)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                     WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local INPUT0_COMPUTE left_tile[DEPTH * PITCH], right_tile[DEPTH * PITCH];
    const int row = get_group_id(1) * TILE, column = get_group_id(0) * TILE;
    const int item_x = get_local_id(0), item_y = get_local_id(1), item = item_y * SIDE + item_x;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)get_global_id(2) * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_X, at);
    const index_t left_start = INPUT0_INDEX_OF(at), right_start = INPUT1_INDEX_OF(at);

    INPUT0_COMPUTE sum[OWN][OWN];
    #pragma unroll
    for (int i = 0; i < OWN; ++i)
        #pragma unroll
        for (int j = 0; j < OWN; ++j) sum[i][j] = 0;

    for (int base = 0; base < INPUT0_SIZE_X; base += DEPTH) {
        #pragma unroll
        for (int n = item; n < TILE * DEPTH; n += SIDE * SIDE) {
            const int lk = LEFT_ALONG_K ? n % DEPTH : n / TILE, i = LEFT_ALONG_K ? n / DEPTH : n % TILE;
            const int rk = RIGHT_ALONG_K ? n % DEPTH : n / TILE, j = RIGHT_ALONG_K ? n / DEPTH : n % TILE;
            left_tile[lk * PITCH + i] = row + i < OUTPUT0_SIZE_Y && base + lk < INPUT0_SIZE_X
                ? INPUT0_LOAD(left, left_start + (row + i) * INPUT0_PITCH_Y + (base + lk) * INPUT0_PITCH_X) : 0;
            right_tile[rk * PITCH + j] = column + j < OUTPUT0_SIZE_X && base + rk < INPUT0_SIZE_X
                ? RIGHT(INPUT1_LOAD(right, right_start + (base + rk) * INPUT1_PITCH_Y + (column + j) * INPUT1_PITCH_X),
                        base + rk, column + j) : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        FUNC(add_products)(sum, left_tile, right_tile);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    #pragma unroll
    for (int i = 0; i < OWN; ++i) {
        #pragma unroll
        for (int j = 0; j < OWN; ++j) {
            const int y = row + item_y + i * SIDE, x = column + item_x + j * SIDE;
            if (y >= OUTPUT0_SIZE_Y || x >= OUTPUT0_SIZE_X) continue;
            at[OUTPUT0_RANK - 2] = y;
            at[OUTPUT0_RANK - 1] = x;
            ADD_BIAS(sum[i][j], x);
            FUSED_OPS(sum[i][j], at)
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), sum[i][j]);
        }
    }
}
