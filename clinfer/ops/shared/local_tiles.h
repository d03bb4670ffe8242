// Products through local memory (local_tiles.py). A work-group of SIDE x SIDE work-items computes a tile of TILE rows x
// TILE columns. It holds DEPTH steps of the inner axis of both sides, [DEPTH, TILE] each with pitch PITCH; a work-item
// has OWN x OWN results, in rows item_y + i * SIDE and columns item_x + j * SIDE: neighbours touch neighbours.
#define DEPTH 16
#define SIDE 16
#define OWN (TILE / SIDE)
// One column more than the tile has: elements of one row then lie in different banks.
#define PITCH (TILE + 1)

// Adds the products of the steps in local memory to the work-item's sums.
INLINED void FUNC(add_products)(INPUT0_COMPUTE sum[OWN][OWN], const local INPUT0_COMPUTE* rows,
                                const local INPUT0_COMPUTE* columns) {
    const int item_x = get_local_id(0), item_y = get_local_id(1);
    #pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
        INPUT0_COMPUTE value[OWN];
        #pragma unroll
        for (int i = 0; i < OWN; ++i) value[i] = rows[k * PITCH + item_y + i * SIDE];
        #pragma unroll
        for (int j = 0; j < OWN; ++j) {
            const INPUT0_COMPUTE other = columns[k * PITCH + item_x + j * SIDE];
            #pragma unroll
            for (int i = 0; i < OWN; ++i) sum[i][j] += value[i] * other;
        }
    }
}
