// Chooses boxes greedily: the one with the best score (of equal ones the first) is taken, those that overlap it
// more than ARG_OVERLAP are suppressed or, with ARG_SCALE other than 0, all scores lowered. A work-group of LANES
// work-items makes the list of one batch and class (OUTPUT1: boxes, OUTPUT2: scores, OUTPUT3: how many); SCRATCH0
// holds the scores that are left, f32 [lists, boxes]. Any unblocked layout and float type.
// ARG_OVERLAP, ARG_LOWEST and ARG_SCALE are the bits of floats.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define IS_CENTER 0
#define ARG_OVERLAP 0
#define ARG_LOWEST 0
#define ARG_SCALE 0
#endif

#define AT(t, row, column) (t##_OFFSET + (row) * t##_PITCH_0 + (column) * t##_PITCH_1)
#define BOX(box, i) ((float)INPUT0_LOAD(boxes, AT(INPUT0, batch, box) + (i) * INPUT0_PITCH_2))

// Lower and upper corners: x and y of one, then of the other.
#define CORNERS(box) (IS_CENTER \
    ? (float4)(BOX(box, 0) - BOX(box, 2) / 2, BOX(box, 1) - BOX(box, 3) / 2, \
               BOX(box, 0) + BOX(box, 2) / 2, BOX(box, 1) + BOX(box, 3) / 2) \
    : (float4)(fmin(BOX(box, 0), BOX(box, 2)), fmin(BOX(box, 1), BOX(box, 3)), \
               fmax(BOX(box, 0), BOX(box, 2)), fmax(BOX(box, 1), BOX(box, 3))))

float FUNC(overlap)(float4 a, float4 b) {
    const float area_a = (a.z - a.x) * (a.w - a.y), area_b = (b.z - b.x) * (b.w - b.y);
    if (area_a <= 0 || area_b <= 0) return 0;
    const float width = fmax(fmin(a.z, b.z) - fmax(a.x, b.x), 0.0f);
    const float height = fmax(fmin(a.w, b.w) - fmax(a.y, b.y), 0.0f);
    return width * height / (area_a + area_b - width * height);
}

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
    float4 taken_corners = 0;
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
                    const float share = FUNC(overlap)(CORNERS(i), taken_corners);
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
        taken_corners = CORNERS(taken);
        ++count;
    }
    if (lane == 0) OUTPUT3_STORE(counts, OUTPUT3_OFFSET + list * OUTPUT3_PITCH_0, count);
}
