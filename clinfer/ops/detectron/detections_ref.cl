// Writes the best of the boxes that were selected (INPUT0 [c, r, 4], longer by a pixel; INPUT1: places and INPUT2:
// scores of each class's list, best first; INPUT3: how many; INPUT4: how many the lists before it have): corners
// (OUTPUT0), classes from 1 on (OUTPUT1), scores (OUTPUT2); zeros where there are fewer. One work-item writes one box,
// or one row of zeros. Where some have to be left out, a box's row is the number of better ones.
#include "clinfer.cl"

// Of the last list; 0 where there are no lists.
#define LAST(t, p) (t##_SIZE_0 > 0 ? (int)t##_LOAD(p, t##_OFFSET + (t##_SIZE_0 - 1) * t##_PITCH_0) : 0)
#define AT(t, row, column) (t##_OFFSET + (row) * t##_PITCH_0 + (column) * t##_PITCH_1)

KERNEL(detections_ref)(const global INPUT0_TYPE* restrict boxes, const global INPUT1_TYPE* restrict chosen,
                       const global INPUT2_TYPE* restrict scores, const global INPUT3_TYPE* restrict counts,
                       const global INPUT4_TYPE* restrict starts,
                       global OUTPUT0_TYPE* restrict output, global OUTPUT1_TYPE* restrict classes,
                       global OUTPUT2_TYPE* restrict output_scores ARGS) {
    const int item = get_global_id(0);
    const int total = LAST(INPUT3, counts) + LAST(INPUT4, starts), most = OUTPUT0_SIZE_0;
    int row = item - INPUT1_COUNT, list = 0, place = -1;
    float score = 0;
    if (row < 0) {
        const int rank = item % INPUT1_SIZE_1;
        list = item / INPUT1_SIZE_1;
        if (rank >= INPUT3_LOAD(counts, INPUT3_OFFSET + list * INPUT3_PITCH_0)) return;
        place = INPUT1_LOAD(chosen, AT(INPUT1, list, rank));
        score = INPUT2_LOAD(scores, AT(INPUT2, list, rank));
        row = INPUT4_LOAD(starts, INPUT4_OFFSET + list * INPUT4_PITCH_0) + rank;
        if (total > most) {
            row = rank;
            for (int other = 0; other < INPUT3_SIZE_0; ++other) {
                if (other == list) continue;
                int low = 0, high = INPUT3_LOAD(counts, INPUT3_OFFSET + other * INPUT3_PITCH_0);
                while (low < high) {
                    const int middle = (low + high) / 2;
                    const float theirs = INPUT2_LOAD(scores, AT(INPUT2, other, middle));
                    const int their_place = INPUT1_LOAD(chosen, AT(INPUT1, other, middle));
                    const bool is_first = their_place < place || (their_place == place && other < list);
                    if (theirs > score || (theirs == score && is_first)) low = middle + 1;
                    else high = middle;
                }
                row += low;
            }
        }
    } else if (row < total) {
        return;
    }
    if (row >= most) return;
    for (int i = 0; i < 4; ++i) {
        const float corner = place < 0 ? 0.0f : (float)INPUT0_LOAD(boxes, INPUT0_GET_INDEX(list, place, i)) - i / 2;
        OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(row, i), corner);
    }
    OUTPUT1_STORE(classes, OUTPUT1_OFFSET + row * OUTPUT1_PITCH_0, place < 0 ? 0 : list + 1);
    OUTPUT2_STORE(output_scores, OUTPUT2_OFFSET + row * OUTPUT2_PITCH_0, score);
}
