// Resizes the last two axes of [b, f, y, x] by nearest neighbours (MODE 0) or linearly (MODE 1); any layout.
// One work-item computes a run of RUN elements along x for CHANNELS channels, VEC at a time (16: a block of
// b_fs_yx_fsv16): it works out once where the run comes from. ARG_SCALE_Y and _X are the bits of floats.
// CONTIGUOUS: neighbours along x are neighbours in the output.
// Dimension 0: x by RUN (the last group is not full), 1: y, 2: b times f by CHANNELS.
#include "clinfer.cl"

#ifndef MODE
#define MODE 1
#define COORDINATES 0
#define NEAREST 0
#define VEC 16
#define RUN 8
#define CHANNELS 16
#define CONTIGUOUS 0
#define ARG_SCALE_Y 0
#define ARG_SCALE_X 0
#endif

#include "shared/fused_run.h"
#include "shared/vectors.h"

#include "coordinates.h"

// Pixel i of a run gets its value; FINISH_RUN stores what is not stored at once, in vectors.
#define ROW_START(T) T##_GET_INDEX(b, f, out_y, first_x)
#if HAS_EPILOGUE && RUN >= 16 && CONTIGUOUS
#define START_RUN INPUT0_COMPUTE results[RUN];
#define PUT(i, value) results[i] = value;
#define FINISH_RUN { FUSED_ROW_START(ROW_START) FUSED_RUN(results, count, to) }
#elif VEC == 16
#define START_RUN
#define PUT(i, value) { \
        VECTOR result = value; \
        const int at[] = {b, f, out_y, first_x + i}; \
        FUSED_OPS16(result, at, 1) \
        STORE_VECTOR(output, to + i * OUTPUT0_PITCH_X, result); \
    }
#define FINISH_RUN
#else
#define START_RUN FUSED_ROW_START(ROW_START)
#define PUT(i, value) { \
        VECTOR result = value; \
        FUSED_ROW_OPS(result, i) \
        STORE_VECTOR(output, to + i * OUTPUT0_PITCH_X, result); \
    }
#define FINISH_RUN
#endif

KERNEL(interpolate_planes)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_x = (int)get_global_id(0) * RUN;
    if (first_x >= OUTPUT0_SIZE_X) return;
    const int count = min(RUN, OUTPUT0_SIZE_X - first_x);
    const int out_y = get_global_id(1);
    const int chunks = CEIL_DIV(OUTPUT0_SIZE_F, CHANNELS);
    const int b = (int)get_global_id(2) / chunks;
    const int first_f = (int)get_global_id(2) % chunks * CHANNELS;
    const int last_f = min(first_f + CHANNELS, OUTPUT0_SIZE_F);
    const float scale_y = as_float(ARG_SCALE_Y), scale_x = as_float(ARG_SCALE_X);
    const float place_y = FUNC(place_of)(out_y, scale_y, OUTPUT0_SIZE_Y, INPUT0_SIZE_Y);
    int left[RUN];
#if MODE == 0
    const int y = clamp(FUNC(nearest_to)(place_y, scale_y), 0, INPUT0_SIZE_Y - 1);
    for (int i = 0; i < count; ++i) {
        const float place = FUNC(place_of)(first_x + i, scale_x, OUTPUT0_SIZE_X, INPUT0_SIZE_X);
        left[i] = clamp(FUNC(nearest_to)(place, scale_x), 0, INPUT0_SIZE_X - 1) * INPUT0_PITCH_X;
    }
    for (int f = first_f; f < last_f; f += VEC) {
        const int row = INPUT0_GET_INDEX(b, f, y, 0), to = ROW_START(OUTPUT0);
        START_RUN
        for (int i = 0; i < count; ++i) PUT(i, LOAD_VECTOR(input, row + left[i]))
        FINISH_RUN
    }
#else
    const float inside_y = clamp(place_y, 0.0f, (float)(INPUT0_SIZE_Y - 1));
    const int y = (int)inside_y;
    const float below = inside_y - y;
    const int next_row = (min(y + 1, INPUT0_SIZE_Y - 1) - y) * INPUT0_PITCH_Y;
    int step[RUN];
    float share[RUN];
    for (int i = 0; i < count; ++i) {
        const float place = clamp(FUNC(place_of)(first_x + i, scale_x, OUTPUT0_SIZE_X, INPUT0_SIZE_X),
                                  0.0f, (float)(INPUT0_SIZE_X - 1));
        const int x = (int)place;
        left[i] = x * INPUT0_PITCH_X;
        step[i] = (min(x + 1, INPUT0_SIZE_X - 1) - x) * INPUT0_PITCH_X;
        share[i] = place - x;
    }
    for (int f = first_f; f < last_f; f += VEC) {
        const int row = INPUT0_GET_INDEX(b, f, y, 0), to = ROW_START(OUTPUT0);
        START_RUN
        for (int i = 0; i < count; ++i) {
            const int from = row + left[i];
            const VECTOR a0 = LOAD_VECTOR(input, from), a1 = LOAD_VECTOR(input, from + step[i]);
            const VECTOR b0 = LOAD_VECTOR(input, from + next_row), b1 = LOAD_VECTOR(input, from + next_row + step[i]);
            const VECTOR top = a0 * (1 - share[i]) + a1 * share[i], bottom = b0 * (1 - share[i]) + b1 * share[i];
            PUT(i, top * (1 - below) + bottom * below)
        }
        FINISH_RUN
    }
#endif
}
