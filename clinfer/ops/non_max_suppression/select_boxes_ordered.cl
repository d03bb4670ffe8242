// Chooses boxes greedily: in the order of their scores (of equal ones the first leads) each is taken, unless one taken
// before overlaps it more than ARG_OVERLAP. A work-item makes the list of one batch and class (OUTPUT1: boxes,
// OUTPUT2: scores, OUTPUT3: how many). It sorts keys (SCRATCH0, i64 [lists, 2, boxes]: KEY(score), smaller for better
// ones, above the place) of the boxes that score more than ARG_LOWEST, then compares each with vectors of VEC of those
// taken (SCRATCH1, f32 [lists, 5, boxes + VEC]: lower and upper corners, areas). Boxes along the axes, no soft
// suppression; any unblocked layout and float type.
// ARG_OVERLAP and ARG_LOWEST are the bits of floats.
#include "clinfer.cl"

#ifndef IS_CENTER
#define IS_CENTER 0
#define EXTENT 0.0f
#define VEC 8
#define KEY(x) (~as_int(x))
#define ARG_OVERLAP 0
#define ARG_LOWEST 0
#endif

#define AT(t, row, column) (t##_OFFSET + (row) * t##_PITCH_0 + (column) * t##_PITCH_1)
#define BOX(box, i) ((float)INPUT0_LOAD(boxes, AT(INPUT0, batch, box) + (i) * INPUT0_PITCH_2))
#define SCORE(box) \
    ((float)INPUT1_LOAD(scores, AT(INPUT1, batch, list % INPUT1_SIZE_1) + (box) * INPUT1_PITCH_2))
#define READ_BOX(box) (IS_CENTER \
    ? (float4)(BOX(box, 0) - BOX(box, 2) / 2, BOX(box, 1) - BOX(box, 3) / 2, \
               BOX(box, 0) + BOX(box, 2) / 2, BOX(box, 1) + BOX(box, 3) / 2) \
    : (float4)(fmin(BOX(box, 0), BOX(box, 2)), fmin(BOX(box, 1), BOX(box, 3)), \
               fmax(BOX(box, 0), BOX(box, 2)), fmax(BOX(box, 1), BOX(box, 3))))

// Sorts `count` keys by merging ever longer runs from one half of the scratch to the other; where they are then.
global long* FUNC(sort_keys)(global long* from, global long* to, int count) {
    for (int run = 1; run < count; run *= 2) {
        for (int start = 0; start < count; start += 2 * run) {
            const int middle = min(start + run, count), end = min(start + 2 * run, count);
            int left = start, right = middle;
            for (int i = start; i < end; ++i) {
                const bool takes_left = right >= end || (left < middle && from[left] < from[right]);
                to[i] = takes_left ? from[left++] : from[right++];
            }
        }
        global long* const sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

// Whether one of the first `count` boxes of `taken`, whose numbers lie `pitch` apart, overlaps a box more than `most`.
bool FUNC(is_suppressed)(float4 box, float area, const global float* taken, int pitch, int count, float most) {
    const int8 lanes = (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    for (int i = 0; i < count; i += VEC) {
        const global float* theirs = taken + i;
        const float8 areas = vload8(0, theirs + 4 * pitch);
        const float8 width = fmin(vload8(0, theirs + 2 * pitch), box.z) - fmax(vload8(0, theirs), box.x);
        const float8 height = fmin(vload8(0, theirs + 3 * pitch), box.w) - fmax(vload8(0, theirs + pitch), box.y);
        const float8 shared = width * height;
        const int8 is_apart = (int8)(area <= 0 ? -1 : 0) | (areas <= 0) | (width < EXTENT) | (height < EXTENT);
        const float8 share = select(shared / (area + areas - shared), (float8)0, is_apart);
        if (any((share > most) & (lanes < count - i))) return true;
    }
    return false;
}

KERNEL(select_boxes_ordered)(const global INPUT0_TYPE* restrict boxes, const global INPUT1_TYPE* restrict scores,
                             global OUTPUT1_TYPE* restrict chosen, global OUTPUT2_TYPE* restrict chosen_scores,
                             global OUTPUT3_TYPE* restrict counts, global long* restrict keys,
                             global float* restrict taken_boxes ARGS) {
    const int list = get_global_id(0);
    const int batch = list / INPUT1_SIZE_1;
    const float lowest = as_float(ARG_LOWEST), most = as_float(ARG_OVERLAP);
    global long* mine = keys + list * SCRATCH0_PITCH_0;
    const int pitch = INPUT1_SIZE_2 + VEC;
    global float* taken = taken_boxes + list * 5 * pitch;
    int candidates = 0;
    for (int i = 0; i < INPUT1_SIZE_2; ++i) {
        const float score = SCORE(i);
        if (score > lowest) mine[candidates++] = (long)KEY(score) << 32 | i;
    }
    mine = FUNC(sort_keys)(mine, mine + SCRATCH0_PITCH_1, candidates);
    int count = 0;
    for (int i = 0; i < candidates && count < OUTPUT1_SIZE_1; ++i) {
        const int place = (int)mine[i];
        const float4 box = READ_BOX(place);
        const float area = (box.z - box.x) * (box.w - box.y);
        if (FUNC(is_suppressed)(box, area, taken, pitch, count, most)) continue;
        OUTPUT1_STORE(chosen, AT(OUTPUT1, list, count), place);
        OUTPUT2_STORE(chosen_scores, AT(OUTPUT2, list, count), SCORE(place));
        taken[count] = box.x;
        taken[count + pitch] = box.y;
        taken[count + 2 * pitch] = box.z;
        taken[count + 3 * pitch] = box.w;
        taken[count + 4 * pitch] = area;
        ++count;
    }
    OUTPUT3_STORE(counts, OUTPUT3_OFFSET + list * OUTPUT3_PITCH_0, count);
}
