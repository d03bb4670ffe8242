// Writes what was chosen (INPUT1: boxes, INPUT2: scores of each list, best first; INPUT3: how many; INPUT4: how
// many the lists before it have): batch, class and box (OUTPUT0) or score (OUTPUT1), and how many (OUTPUT2).
// One work-item writes one box. If SORTED, its place is the number of better boxes: those of each list stand
// before the place that a binary search finds; of equal scores the one of the first list is better.
#include "clinfer.cl"

#ifndef SORTED
#define SORTED 1
#define ARG_CLASSES 1
#define ARG_TOTAL 1
#endif

#define AT(t, row, column) (t##_OFFSET + (row) * t##_PITCH_0 + (column) * t##_PITCH_1)

KERNEL(non_max_suppression_ref)(const global INPUT1_TYPE* restrict chosen, const global INPUT2_TYPE* restrict scores,
                                const global INPUT3_TYPE* restrict counts, const global INPUT4_TYPE* restrict starts,
                                global OUTPUT0_TYPE* restrict places, global OUTPUT1_TYPE* restrict place_scores,
                                global OUTPUT2_TYPE* restrict total ARGS) {
    const int item = get_global_id(0);
    if (item == 0) OUTPUT2_STORE(total, OUTPUT2_OFFSET, ARG_TOTAL);
    if (item >= INPUT1_COUNT) return;
    const int list = item / INPUT1_SIZE_1, rank = item % INPUT1_SIZE_1;
    if (rank >= INPUT3_LOAD(counts, INPUT3_OFFSET + list * INPUT3_PITCH_0)) return;
    const float score = INPUT2_LOAD(scores, AT(INPUT2, list, rank));
    int place = rank;
    if (SORTED) {
        for (int other = 0; other < INPUT3_SIZE_0; ++other) {
            if (other == list) continue;
            int low = 0, high = INPUT3_LOAD(counts, INPUT3_OFFSET + other * INPUT3_PITCH_0);
            while (low < high) {
                const int middle = (low + high) / 2;
                const float theirs = INPUT2_LOAD(scores, AT(INPUT2, other, middle));
                if (theirs > score || (theirs == score && other < list)) low = middle + 1;
                else high = middle;
            }
            place += low;
        }
    } else {
        place += INPUT4_LOAD(starts, INPUT4_OFFSET + list * INPUT4_PITCH_0);
    }
    const int batch = list / ARG_CLASSES, class = list % ARG_CLASSES;
    OUTPUT0_STORE(places, AT(OUTPUT0, place, 0), batch);
    OUTPUT0_STORE(places, AT(OUTPUT0, place, 1), class);
    OUTPUT0_STORE(places, AT(OUTPUT0, place, 2), INPUT1_LOAD(chosen, AT(INPUT1, list, rank)));
    OUTPUT1_STORE(place_scores, AT(OUTPUT1, place, 0), (OUTPUT1_COMPUTE)batch);
    OUTPUT1_STORE(place_scores, AT(OUTPUT1, place, 1), (OUTPUT1_COMPUTE)class);
    OUTPUT1_STORE(place_scores, AT(OUTPUT1, place, 2), (OUTPUT1_COMPUTE)score);
}
