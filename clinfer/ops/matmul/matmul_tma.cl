// Matrix product on NVIDIA's tensor cores, as matmul_mma.cl has it, whose steps the tensor memory accelerator copies
// (bulk_copies.h): all rows meet the same right side.
// Views, all of one rank: left [1..., M, K], right [1..., K, N], output [1..., M, N]; bias [N]; maps
// [groups, 2, MAP_WORDS]. Groups: every n-th tile.
#include "clinfer.cl"

#ifndef TILE_ROWS
#define TILE_ROWS 128
#define TILE_COLUMNS 128
#define DEPTH 64
#define STAGES 4
#define WARPS_DOWN 8
#define WARPS_ACROSS 1
#define WARP_GROUPS 1
#define COPYING_WARPS 4
#define RIGHT_ALONG_K 1
#endif
#include "mma_places.h"
#include "shared/bulk_copies.h"

INLINED void FUNC(write_maps)(global ulong* maps, const global half* left, const global half* right ARGS) {
    const int sizes[4] = {INPUT0_SIZE_X, INPUT0_SIZE_Y, 1, 1};
    const long pitches[4] = {1, INPUT0_PITCH_Y, 0, 0};
    WRITE_MAP(maps, left, 2, sizes, pitches, (int2)(TILE_ROWS, 1));
#if RIGHT_ALONG_K
    const int right_sizes[4] = {INPUT1_SIZE_Y, INPUT1_SIZE_X, 1, 1};
    const long right_pitches[4] = {1, INPUT1_PITCH_X, 0, 0};
    WRITE_MAP(maps + MAP_WORDS, right, 2, right_sizes, right_pitches, (int2)(TILE_COLUMNS, 1));
#else
    const int right_sizes[4] = {INPUT1_SIZE_X, INPUT1_SIZE_Y, 1, 1};
    const long right_pitches[4] = {1, INPUT1_PITCH_Y, 0, 0};
    WRITE_MAP(maps + MAP_WORDS, right, 2, right_sizes, right_pitches, (int2)(DEPTH, 1));
#endif
    MAPS_SHOWN(maps);
}

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
KERNEL(matmul_tma)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                   BIAS_PARAMETER global OUTPUT0_TYPE* restrict output, global SCRATCH0_TYPE* all_maps
                   SHARING_PARAMETERS ARGS) {
    local uchar memory[LOCAL_BYTES] __attribute__((aligned(STEP_ALIGNMENT)));
    global ulong* maps = (global ulong*)all_maps + get_group_id(0) * 2 * MAP_WORDS;
    if (get_local_id(0) == 0)
        FUNC(write_maps)(maps, (const global half*)left + INPUT0_OFFSET, (const global half*)right + INPUT1_OFFSET
                         PASS_ARGS);
    const int tiles = FUNC(tiles_of)(OUTPUT0_SIZE_Y, OUTPUT0_SIZE_X);
    FUNC(corner) corner;
#define FIND_SIDES(tile, s) corner = FUNC(corner_of)(tile, tiles PASS_ARGS)
#if RIGHT_ALONG_K
#define COPY_RIGHT(to, s, barrier) BULK_COPY_2_LEAVING(to, maps + MAP_WORDS, (s) * DEPTH, corner.column, barrier)
#else
#define COPY_RIGHT(to, s, barrier) \
    _Pragma("unroll") for (int x_ = 0; x_ < TILE_COLUMNS; x_ += BULK_COLUMNS) \
        BULK_COPY_2_LEAVING((to) + x_ * DEPTH * 2, maps + MAP_WORDS, corner.column + x_, (s) * DEPTH, barrier)
#endif
#define COPY_STEP(to, s, barrier) do { \
        BULK_COPY_2(to, maps, (s) * DEPTH, corner.row, barrier); \
        COPY_RIGHT((to) + LEFT_BYTES, s, barrier); \
    } while (0)
    COMPUTE_TILES(memory, tiles, (INPUT0_SIZE_X + DEPTH - 1) / DEPTH);
}
