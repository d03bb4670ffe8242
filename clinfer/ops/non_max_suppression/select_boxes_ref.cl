// Chooses boxes greedily: the one with the best score (of equal ones the first) is taken, those that overlap it
// more than ARG_OVERLAP are suppressed or, with ARG_SCALE other than 0, all scores lowered. A work-group of LANES
// work-items makes the list of one batch and class (OUTPUT1: boxes, OUTPUT2: scores, OUTPUT3: how many); SCRATCH0
// holds the scores that are left, f32 [lists, boxes]. Any unblocked layout and float type.
// ARG_OVERLAP, ARG_LOWEST and ARG_SCALE are the bits of floats.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define IS_CENTER 0
#define IS_ROTATED 0
#define TURN 1
#define EXTENT 0.0f
#define ARG_OVERLAP 0
#define ARG_LOWEST 0
#define ARG_SCALE 0
#endif

#define AT(t, row, column) (t##_OFFSET + (row) * t##_PITCH_0 + (column) * t##_PITCH_1)
#define BOX(box, i) ((float)INPUT0_LOAD(boxes, AT(INPUT0, batch, box) + (i) * INPUT0_PITCH_2))

#if IS_ROTATED
// Boxes that are turned around their centres: x and y of the centre, halves of the sides, cosine and sine of the angle.
#define BOX_TYPE float8
#define READ_BOX(box) FUNC(rotated_box)(BOX(box, 0), BOX(box, 1), BOX(box, 2), BOX(box, 3), TURN * BOX(box, 4))
#define MAX_CORNERS 8

float8 FUNC(rotated_box)(float x, float y, float width, float height, float angle) {
    return (float8)(x, y, width / 2, height / 2, cos(angle), sin(angle), 0, 0);
}

// Cuts off what of a polygon lies beyond `edge` along an axis; how many corners are left.
int FUNC(cut)(float2* corners, int count, float2 axis, float edge) {
    float2 left[MAX_CORNERS];
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        const float2 here = corners[i], next = corners[i + 1 < count ? i + 1 : 0];
        const float over_here = dot(here, axis) - edge, over_next = dot(next, axis) - edge;
        if (over_here <= 0 && kept < MAX_CORNERS) left[kept++] = here;
        if ((over_here < 0) != (over_next < 0) && over_here != 0 && over_next != 0 && kept < MAX_CORNERS)
            left[kept++] = here + (next - here) * (over_here / (over_here - over_next));
    }
    for (int i = 0; i < kept; ++i) corners[i] = left[i];
    return kept;
}

// Intersection over union. The second box is cut to the first, as seen from that one's centre and sides.
float FUNC(overlap)(float8 a, float8 b) {
    const float area_a = 4 * a.s2 * a.s3, area_b = 4 * b.s2 * b.s3;
    if (area_a <= 0 || area_b <= 0) return 0;
    const float2 apart = b.s01 - a.s01;
    const float2 centre = (float2)(dot(apart, (float2)(a.s4, a.s5)), dot(apart, (float2)(-a.s5, a.s4)));
    const float cosine = a.s4 * b.s4 + a.s5 * b.s5, sine = b.s5 * a.s4 - b.s4 * a.s5;
    const float2 along = b.s2 * (float2)(cosine, sine), across = b.s3 * (float2)(-sine, cosine);
    float2 corners[MAX_CORNERS] = {centre - along - across, centre + along - across, centre + along + across,
                                   centre - along + across};
    int count = FUNC(cut)(corners, 4, (float2)(1, 0), a.s2);
    count = FUNC(cut)(corners, count, (float2)(-1, 0), a.s2);
    count = FUNC(cut)(corners, count, (float2)(0, 1), a.s3);
    count = FUNC(cut)(corners, count, (float2)(0, -1), a.s3);
    float doubled = 0;
    for (int i = 0; i < count; ++i) {
        const float2 here = corners[i] - corners[0], next = corners[i + 1 < count ? i + 1 : 0] - corners[0];
        doubled += here.x * next.y - here.y * next.x;
    }
    const float shared = fabs(doubled) / 2;
    return shared / (area_a + area_b - shared);
}

#else
// Boxes by their lower and upper corners: x and y of one, then of the other, which is EXTENT further than the box's
// last point.
#define BOX_TYPE float4
#define READ_BOX(box) (IS_CENTER \
    ? (float4)(BOX(box, 0) - BOX(box, 2) / 2, BOX(box, 1) - BOX(box, 3) / 2, \
               BOX(box, 0) + BOX(box, 2) / 2, BOX(box, 1) + BOX(box, 3) / 2) \
    : (float4)(fmin(BOX(box, 0), BOX(box, 2)), fmin(BOX(box, 1), BOX(box, 3)), \
               fmax(BOX(box, 0), BOX(box, 2)), fmax(BOX(box, 1), BOX(box, 3))))

// Intersection over union; 0 for boxes that have no point in common.
float FUNC(overlap)(float4 a, float4 b) {
    const float area_a = (a.z - a.x) * (a.w - a.y), area_b = (b.z - b.x) * (b.w - b.y);
    if (area_a <= 0 || area_b <= 0) return 0;
    const float width = fmin(a.z, b.z) - fmax(a.x, b.x);
    const float height = fmin(a.w, b.w) - fmax(a.y, b.y);
    if (width < EXTENT || height < EXTENT) return 0;
    return width * height / (area_a + area_b - width * height);
}
#endif

// Whether the box at q is better than the one at p, where -1 is none.
#define BETTER(score_q, q, score_p, p) \
    ((q) >= 0 && ((p) < 0 || (score_q) > (score_p) || ((score_q) == (score_p) && (q) < (p))))

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(select_boxes_ref)(const global INPUT0_TYPE* restrict boxes, const global INPUT1_TYPE* restrict scores,
                         global OUTPUT1_TYPE* restrict chosen, global OUTPUT2_TYPE* restrict chosen_scores,
                         global OUTPUT3_TYPE* restrict counts, global float* restrict left ARGS) {
    const int lane = get_local_id(0);
    const int list = get_group_id(0);
    const int batch = list / INPUT1_SIZE_1;
    const float lowest = as_float(ARG_LOWEST), most = as_float(ARG_OVERLAP), scale = as_float(ARG_SCALE);
    global float* mine = left + list * INPUT1_SIZE_2;
#if LANES > 1
    local float shared[LANES];
    local int shared_places[LANES];
#endif
    int count = 0, taken = -1;
    BOX_TYPE taken_box = 0;
    while (count < OUTPUT1_SIZE_1) {
        float best = 0;
        int place = -1;
        for (int i = lane; i < INPUT1_SIZE_2; i += LANES) {
            float score;
            if (taken < 0) {
                score = INPUT1_LOAD(scores, AT(INPUT1, batch, list % INPUT1_SIZE_1) + i * INPUT1_PITCH_2);
                if (!(score > lowest)) score = -INFINITY;
            } else {
                score = mine[i];
                if (score > -INFINITY) {
                    const float share = FUNC(overlap)(READ_BOX(i), taken_box);
                    if (scale != 0) score *= exp(scale * share * share);
                    if (i == taken || (scale == 0 && share > most) || !(score > lowest)) score = -INFINITY;
                }
            }
            mine[i] = score;
            if (score > -INFINITY && BETTER(score, i, best, place)) {
                best = score;
                place = i;
            }
        }
#if LANES > 1
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[lane] = best;
        shared_places[lane] = place;
        for (int step = LANES / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const int other = lane + step;
            if (lane < step && BETTER(shared[other], shared_places[other], shared[lane], shared_places[lane])) {
                shared[lane] = shared[other];
                shared_places[lane] = shared_places[other];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        best = shared[0];
        place = shared_places[0];
#endif
        if (place < 0) break;
        if (lane == 0) {
            OUTPUT1_STORE(chosen, AT(OUTPUT1, list, count), place);
            OUTPUT2_STORE(chosen_scores, AT(OUTPUT2, list, count), best);
        }
        taken = place;
        taken_box = READ_BOX(taken);
        ++count;
    }
    if (lane == 0) OUTPUT3_STORE(counts, OUTPUT3_OFFSET + list * OUTPUT3_PITCH_0, count);
}
