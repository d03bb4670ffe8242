// Transposes: views of four axes; axis 2 has pitch 1 in the input, axis 3 has pitch 1 in the output.
// One work-item moves a tile of TILE x TILE elements through private memory, so that both sides are
// read and written in contiguous runs. Dimension 0: tiles along axis 3, 1: along axis 2, 2: the others.
// Without fused operations the views hold raw storage units.
#include "clinfer.cl"

#ifndef TILE
#define TILE 16
#endif

#define TILE_ROW(T) T##_GET_INDEX(at0, at1, first2 + r, first3)

#include "shared/fused_run.h"

KERNEL(copy_tiles)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t first3 = (index_t)get_global_id(0) * TILE;
    const index_t first2 = (index_t)get_global_id(1) * TILE;
    const index_t at1 = (index_t)get_global_id(2) % OUTPUT0_SIZE_1;
    const index_t at0 = (index_t)get_global_id(2) / OUTPUT0_SIZE_1;
    const global INPUT0_TYPE* from = input + INPUT0_GET_INDEX(at0, at1, first2, first3);
    global OUTPUT0_TYPE* to = output + OUTPUT0_GET_INDEX(at0, at1, first2, first3);
    const int count2 = min((index_t)TILE, OUTPUT0_SIZE_2 - first2);
    const int count3 = min((index_t)TILE, OUTPUT0_SIZE_3 - first3);
#if HAS_EPILOGUE
    INPUT0_COMPUTE values[TILE * TILE];
    for (int c = 0; c < count3; ++c)
        for (int r = 0; r < count2; ++r) values[r * TILE + c] = INPUT0_LOAD(from, r + c * INPUT0_PITCH_3);
    for (int r = 0; r < count2; ++r) {
        FUSED_ROW_START(TILE_ROW)
        FUSED_RUN(values + r * TILE, count3, TILE_ROW(OUTPUT0))
    }
#else
    OUTPUT0_TYPE tile[TILE * TILE];
    if (count2 == TILE && count3 == TILE) {
        for (int c = 0; c < TILE; ++c)
            for (int r = 0; r < TILE; ++r) tile[r * TILE + c] = from[r + c * INPUT0_PITCH_3];
        for (int r = 0; r < TILE; ++r)
            for (int c = 0; c < TILE; ++c) to[r * OUTPUT0_PITCH_2 + c] = tile[r * TILE + c];
        return;
    }
    for (int r = 0; r < count2; ++r)
        for (int c = 0; c < count3; ++c) to[r * OUTPUT0_PITCH_2 + c] = from[r + c * INPUT0_PITCH_3];
#endif
}
