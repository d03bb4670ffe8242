// Moves a tensor between formats and paddings: raw elements, along axes cut at the blocks of both sides
// (tiles.py). INPUT0 and OUTPUT0 have the same axes: outer ones, RUN (contiguous in the input) and LANE
// (contiguous in the output). One work-item moves ARG_RUNS x ARG_LANES elements, by way of a private tile
// where the two differ; with TILE 1 it moves one element. A blocked axis has a limit: no element lies behind
// it, and block tails of the output are zeros (FILLS).
#include "clinfer.cl"

#ifndef TILE
#define TILE 16
#define RUN 2
#define LANE 3
#define OUTER_AXES(step) step(1) step(0)
#define FILLS_0 0
#define FILLS_1 0
#define ARG_ITEMS 1
#define ARG_RUNS 16
#define ARG_LANES 16
#endif

#define AT(prefix, axis) CLINFER_CAT(prefix, axis)
#define RUN_FROM AT(INPUT0_PITCH, RUN)
#define RUN_TO AT(OUTPUT0_PITCH, RUN)
#define LANE_FROM AT(INPUT0_PITCH, LANE)
#define LANE_TO AT(OUTPUT0_PITCH, LANE)

#ifdef ARG_BOUND_0
#define LEAVE_0(axis, at) left_0 -= (at) * AT(ARG_LIMIT_0, axis);
#define CUT_0 CUT(left_0, AT(ARG_LIMIT_0, RUN), AT(ARG_LIMIT_0, LANE), FILLS_0)
#else
#define LEAVE_0(axis, at)
#define CUT_0
#endif
#ifdef ARG_BOUND_1
#define LEAVE_1(axis, at) left_1 -= (at) * AT(ARG_LIMIT_1, axis);
#define CUT_1 CUT(left_1, AT(ARG_LIMIT_1, RUN), AT(ARG_LIMIT_1, LANE), FILLS_1)
#else
#define LEAVE_1(axis, at)
#define CUT_1
#endif

// Go `at` steps along an axis.
#define WALK(axis, at) \
    from += (at) * AT(INPUT0_PITCH, axis); \
    to += (at) * AT(OUTPUT0_PITCH, axis); \
    LEAVE_0(axis, at) LEAVE_1(axis, at)

#define WALK_OUTER(axis) { \
    const index_t at = item % AT(OUTPUT0_SIZE, axis); \
    item /= AT(OUTPUT0_SIZE, axis); \
    WALK(axis, at) \
}

// What a limit leaves of the tile to read, and to write.
#define CUT(left, run_step, lane_step, fills) \
    if (lane_step) read_lanes = clamp(CEIL_DIV(left, lane_step), (index_t)0, read_lanes); \
    else if (run_step) read_runs = clamp(CEIL_DIV(left, run_step), (index_t)0, read_runs); \
    else if (left <= 0) read_lanes = 0; \
    if (!fills) { \
        lanes = min(lanes, read_lanes); \
        runs = min(runs, read_runs); \
    }

#if TILE == 16
// Vectors are spelt out: a compiler that made vectors of work-items, too, would take four times as long over it.
__attribute__((vec_type_hint(float16)))
#endif
KERNEL(reorder_tiles)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    index_t item = get_global_id(0);
    if (item >= ARG_ITEMS) return;
    const index_t lane_tiles = CEIL_DIV(AT(OUTPUT0_SIZE, LANE), ARG_LANES);
    const index_t run_tiles = CEIL_DIV(AT(OUTPUT0_SIZE, RUN), ARG_RUNS);
    const index_t lane = item % lane_tiles * ARG_LANES;
    item /= lane_tiles;
    const index_t run = item % run_tiles * ARG_RUNS;
    item /= run_tiles;

    index_t from = INPUT0_OFFSET, to = OUTPUT0_OFFSET;
#ifdef ARG_BOUND_0
    index_t left_0 = ARG_BOUND_0;
#endif
#ifdef ARG_BOUND_1
    index_t left_1 = ARG_BOUND_1;
#endif
    WALK(LANE, lane)
    WALK(RUN, run)
    OUTER_AXES(WALK_OUTER)

    index_t lanes = min(ARG_LANES, AT(OUTPUT0_SIZE, LANE) - lane), runs = min(ARG_RUNS, AT(OUTPUT0_SIZE, RUN) - run);
    index_t read_lanes = lanes, read_runs = runs;
    CUT_0
    CUT_1

#if TILE == 16
    if (LANE_FROM == 1 && LANE_TO == 1) {
        for (index_t r = 0; r < runs; ++r, from += RUN_FROM, to += RUN_TO) {
            const index_t count = r < read_runs ? read_lanes : 0;
            index_t i = 0;
            for (; i + TILE <= count; i += TILE) vstore16(vload16(0, input + from + i), 0, output + to + i);
            for (; i < count; ++i) output[to + i] = input[from + i];
            for (; i < lanes; ++i) output[to + i] = 0;
        }
        return;
    }
    if (lanes == TILE && LANE_TO == 1 && runs <= TILE) {
        OUTPUT0_TYPE tile[TILE * TILE];
        if (read_lanes == TILE && read_runs == TILE && RUN_FROM == 1) {
            for (int l = 0; l < TILE; ++l)
                for (int r = 0; r < TILE; ++r) tile[r * TILE + l] = input[from + l * LANE_FROM + r];
            for (int r = 0; r < TILE; ++r) vstore16(vload16(0, tile + r * TILE), 0, output + to + r * RUN_TO);
            return;
        }
        for (int i = 0; i < TILE * TILE; ++i) tile[i] = 0;
        for (index_t l = 0; l < read_lanes; ++l)
            for (index_t r = 0; r < read_runs; ++r) tile[r * TILE + l] = input[from + l * LANE_FROM + r * RUN_FROM];
        for (index_t r = 0; r < runs; ++r) vstore16(vload16(0, tile + r * TILE), 0, output + to + r * RUN_TO);
        return;
    }
#endif
    for (index_t r = 0; r < runs; ++r)
        for (index_t l = 0; l < lanes; ++l)
            output[to + l * LANE_TO + r * RUN_TO] =
                r < read_runs && l < read_lanes ? input[from + l * LANE_FROM + r * RUN_FROM] : 0;
}
