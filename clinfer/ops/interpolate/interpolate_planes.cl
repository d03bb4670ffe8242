// Resizes the last axes of [b, f, z, y, x] by nearest neighbours (MODE 0) or linearly (MODE 1); any layout. PLANES is 2
// where z is resized, too, and 1 in pictures, whose z has one element. One work-item computes a run of RUN elements
// along x for CHANNELS channels, VEC at a time (16: a block of b_fs_yx_fsv16): it works out once where the run comes
// from. ARG_SCALE_Z, _Y and _X are the bits of floats. CONTIGUOUS: neighbours along x are neighbours in the output.
// With JOINED above 0, the rows between which a run lies are joined before its elements are interpolated between
// columns, if they have at most so many of these, side by side.
// Dimension 0: x by RUN (the last group is not full), 1: y and z, 2: b times f by CHANNELS.
#include "clinfer.cl"

#ifndef MODE
#define MODE 1
#define COORDINATES 0
#define NEAREST 0
#define VEC 16
#define RUN 8
#define CHANNELS 16
#define CONTIGUOUS 0
#define PLANES 1
#define JOINED 0
#define INPUT0_SIZE_Z 1
#define INPUT0_PITCH_Z 0
#define OUTPUT0_SIZE_Z 1
#define ARG_SCALE_Z 0
#define ARG_SCALE_Y 0
#define ARG_SCALE_X 0
#endif

#include "shared/fused_run.h"
#include "shared/vectors.h"

#include "coordinates.h"

// Pixel i of a run gets its value; FINISH_RUN stores what is not stored at once, in vectors.
#define ROW_START(T) T##_GET_INDEX(b, f, out_z, out_y, first_x)
#if HAS_EPILOGUE && RUN >= 16 && CONTIGUOUS
#define START_RUN INPUT0_COMPUTE results[RUN];
#define PUT(i, value) results[i] = value;
#define FINISH_RUN { FUSED_ROW_START(ROW_START) FUSED_RUN(results, count, to) }
#elif VEC == 16
#define START_RUN
#define PUT(i, value) { \
        VECTOR result = value; \
        const int at[] = {b, f, out_z, out_y, first_x + i}; \
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

// The nearest element of an axis.
INLINED int FUNC(nearest)(const int x, const int scale_bits, const int resized, const int length) {
    const float scale = as_float(scale_bits);
    return clamp(FUNC(nearest_to)(FUNC(place_of)(x, scale, resized, length), scale), 0, length - 1);
}

// The element of an axis ahead of a place, how far the next one lies behind it, which is 0 at the end, and its share.
INLINED int FUNC(between)(int* step, float* share, const int x, const int scale_bits, const int resized,
                          const int length) {
    const float place = clamp(FUNC(place_of)(x, as_float(scale_bits), resized, length), 0.0f, (float)(length - 1));
    const int first = (int)place;
    *step = min(first + 1, length - 1) - first;
    *share = place - first;
    return first;
}

#define MIXED(a, b, share) ((a) * (1 - (share)) + (b) * (share))

KERNEL(interpolate_planes)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_x = (int)get_global_id(0) * RUN;
    if (first_x >= OUTPUT0_SIZE_X) return;
    const int count = min(RUN, OUTPUT0_SIZE_X - first_x);
    const int out_y = (int)get_global_id(1) % OUTPUT0_SIZE_Y, out_z = (int)get_global_id(1) / OUTPUT0_SIZE_Y;
    const int chunks = CEIL_DIV(OUTPUT0_SIZE_F, CHANNELS);
    const int b = (int)get_global_id(2) / chunks;
    const int first_f = (int)get_global_id(2) % chunks * CHANNELS;
    const int last_f = min(first_f + CHANNELS, OUTPUT0_SIZE_F);
    int left[RUN];
#if MODE == 0
    const int z = PLANES > 1 ? FUNC(nearest)(out_z, ARG_SCALE_Z, OUTPUT0_SIZE_Z, INPUT0_SIZE_Z) : 0;
    const int y = FUNC(nearest)(out_y, ARG_SCALE_Y, OUTPUT0_SIZE_Y, INPUT0_SIZE_Y);
    for (int i = 0; i < count; ++i)
        left[i] = FUNC(nearest)(first_x + i, ARG_SCALE_X, OUTPUT0_SIZE_X, INPUT0_SIZE_X) * INPUT0_PITCH_X;
    for (int f = first_f; f < last_f; f += VEC) {
        const int row = INPUT0_GET_INDEX(b, f, z, y, 0), to = ROW_START(OUTPUT0);
        START_RUN
        for (int i = 0; i < count; ++i) PUT(i, LOAD_VECTOR(input, row + left[i]))
        FINISH_RUN
    }
#else
    int next_plane = 0, next_row, step[RUN];
    float behind = 0, below, share[RUN];
    const int z = PLANES > 1
        ? FUNC(between)(&next_plane, &behind, out_z, ARG_SCALE_Z, OUTPUT0_SIZE_Z, INPUT0_SIZE_Z) : 0;
    const int y = FUNC(between)(&next_row, &below, out_y, ARG_SCALE_Y, OUTPUT0_SIZE_Y, INPUT0_SIZE_Y);
    next_plane *= INPUT0_PITCH_Z;
    next_row *= INPUT0_PITCH_Y;
    for (int i = 0; i < count; ++i) {
        left[i] = FUNC(between)(step + i, share + i, first_x + i, ARG_SCALE_X, OUTPUT0_SIZE_X, INPUT0_SIZE_X)
            * INPUT0_PITCH_X;
        step[i] *= INPUT0_PITCH_X;
    }
    // Element `at` of the rows that the run lies between, as one.
#define OF_PLANE(LOAD, at) MIXED(LOAD(input, at), LOAD(input, (at) + next_row), below)
#if PLANES > 1
#define OF_ROWS(LOAD, at) MIXED(OF_PLANE(LOAD, at), OF_PLANE(LOAD, (at) + next_plane), behind)
#else
#define OF_ROWS OF_PLANE
#endif
#if JOINED
    const int first = left[0], columns = left[count - 1] + step[count - 1] - first + 1;
    const bool is_joined = INPUT0_PITCH_X == 1 && columns <= JOINED;
    INPUT0_COMPUTE joined[JOINED];
#endif
    for (int f = first_f; f < last_f; f += VEC) {
        const int row = INPUT0_GET_INDEX(b, f, z, y, 0), to = ROW_START(OUTPUT0);
        START_RUN
#if JOINED
        int done = is_joined ? 0 : columns;
        for (; done + 16 <= columns; done += 16) vstore16(OF_ROWS(INPUT0_LOAD16, row + first + done), 0, joined + done);
        for (; done < columns; ++done) joined[done] = OF_ROWS(INPUT0_LOAD, row + first + done);
        for (int i = 0; i < (is_joined ? count : 0); ++i) {
            const int from = left[i] - first;
            PUT(i, MIXED(joined[from], joined[from + step[i]], share[i]))
        }
        for (int i = is_joined ? count : 0; i < count; ++i) {
#else
        for (int i = 0; i < count; ++i) {
#endif
            const VECTOR ahead = OF_ROWS(LOAD_VECTOR, row + left[i]);
            const VECTOR next = OF_ROWS(LOAD_VECTOR, row + left[i] + step[i]);
            PUT(i, MIXED(ahead, next, share[i]))
        }
        FINISH_RUN
    }
#endif
}
