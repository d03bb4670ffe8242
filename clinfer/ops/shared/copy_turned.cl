// Transposes by way of local memory: views of four axes; axis 2 has pitch 1 in the input, axis 3 has pitch 1 in the
// output. A work-group of TILE x ROWS work-items moves TILE x TILE elements, neighbours by neighbours on both sides.
// Dimension 0: tiles along axis 3, along axis 2, and of the others, by TILE; 1: ROWS.
// Without fused operations the views hold raw storage units.
#include "clinfer.cl"

#ifndef TILE
#define TILE 32
#define ROWS 8
#endif

#if HAS_EPILOGUE
#define HELD_TYPE INPUT0_COMPUTE
#define TAKEN(i) INPUT0_LOAD(input, i)
#else
#define HELD_TYPE INPUT0_TYPE
#define TAKEN(i) input[i]
#endif
#define RESULT_ROW(T) T##_GET_INDEX(at0, at1, at2, 0)

__attribute__((reqd_work_group_size(TILE, ROWS, 1)))
KERNEL(copy_turned)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    // One element more in each row: columns lie in different banks.
    local HELD_TYPE tile[TILE][TILE + 1];
    const int lane = get_local_id(0), row = get_local_id(1);
    const index_t across = CEIL_DIV(OUTPUT0_SIZE_3, TILE), down = CEIL_DIV(OUTPUT0_SIZE_2, TILE);
    const index_t place = get_group_id(0), others = place / across / down;
    const index_t first3 = place % across * TILE, first2 = place / across % down * TILE;
    const index_t at1 = others % OUTPUT0_SIZE_1, at0 = others / OUTPUT0_SIZE_1;
    #pragma unroll
    for (int c = row; c < TILE; c += ROWS)
        if (first3 + c < OUTPUT0_SIZE_3 && first2 + lane < OUTPUT0_SIZE_2)
            tile[c][lane] = TAKEN(INPUT0_GET_INDEX(at0, at1, first2 + lane, first3 + c));
    barrier(CLK_LOCAL_MEM_FENCE);
    const index_t at3 = first3 + lane;
    if (at3 >= OUTPUT0_SIZE_3) return;
    #pragma unroll
    for (int r = row; r < TILE; r += ROWS) {
        const index_t at2 = first2 + r;
        if (at2 >= OUTPUT0_SIZE_2) break;
#if HAS_EPILOGUE
        OUTPUT0_COMPUTE result = tile[lane][r];
        FUSED_ROW_START(RESULT_ROW)
        FUSED_ROW_OPS(result, at3)
        OUTPUT0_STORE(output, RESULT_ROW(OUTPUT0) + at3, result);
#else
        output[RESULT_ROW(OUTPUT0) + at3] = tile[lane][r];
#endif
    }
}
