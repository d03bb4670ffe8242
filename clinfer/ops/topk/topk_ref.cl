// The first OUTPUT0_SIZE_LAST elements along the last axis of the views, in the order of their keys (see KEY:
// larger first, equal ones by place) or, if BY_PLACE, in that of their places; any layout, rank and type.
// One work-item computes one row: one pass for each element, no memory of its own. The last work-group is
// not full.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef KEY_TYPE
#define KEY_TYPE int
#define KEY(x) as_int(x)
#define BY_PLACE 0
#define ARG_ROWS 4096
#endif

#define KEY_AT(i) (at[INPUT0_RANK - 1] = (i), KEY(INPUT0_LOAD(input, INPUT0_INDEX_OF(at))))

KERNEL(topk_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict values,
                 global OUTPUT1_TYPE* restrict places ARGS) {
    const index_t row = get_global_id(0);
    if (row >= ARG_ROWS) return;
    index_t at[MAX_RANK], to[MAX_RANK];
    INPUT0_UNRAVEL(row * INPUT0_SIZE_LAST, at);
    for (int axis = 0; axis < INPUT0_RANK; ++axis) to[axis] = at[axis];
    KEY_TYPE last = 0;
    index_t last_place = -1;
    for (index_t rank = 0; rank < OUTPUT0_SIZE_LAST; ++rank) {
        KEY_TYPE best = 0;
        index_t best_place = -1;
        for (index_t i = 0; i < INPUT0_SIZE_LAST; ++i) {
            const KEY_TYPE key = KEY_AT(i);
            const bool left = rank == 0 || key < last || (key == last && i > last_place);
            if (left && (best_place < 0 || key > best)) {
                best = key;
                best_place = i;
            }
        }
        last = best;
        last_place = best_place;
        if (!BY_PLACE) {
            at[INPUT0_RANK - 1] = best_place;
            to[INPUT0_RANK - 1] = rank;
            OUTPUT0_STORE(values, OUTPUT0_INDEX_OF(to), INPUT0_LOAD(input, INPUT0_INDEX_OF(at)));
            OUTPUT1_STORE(places, OUTPUT1_INDEX_OF(to), best_place);
        }
    }
    if (!BY_PLACE) return;
    for (index_t i = 0, rank = 0; i < INPUT0_SIZE_LAST && rank < OUTPUT0_SIZE_LAST; ++i) {
        const KEY_TYPE key = KEY_AT(i);
        if (key < last || (key == last && i > last_place)) continue;
        to[INPUT0_RANK - 1] = rank++;
        OUTPUT0_STORE(values, OUTPUT0_INDEX_OF(to), INPUT0_LOAD(input, INPUT0_INDEX_OF(at)));
        OUTPUT1_STORE(places, OUTPUT1_INDEX_OF(to), i);
    }
}
