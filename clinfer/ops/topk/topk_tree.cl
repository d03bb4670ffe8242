// The first OUTPUT0_SIZE_LAST elements along the last axis of the views, in the order of their keys (see KEY:
// larger first, equal ones by place); any layout, rank and type. A work-group of LANES work-items computes
// one row. The row is dealt out to LEAVES leaves (a power of two): neighbours to one leaf, or one to each if
// LANES > 1, for coalesced loads. A tournament tree in local memory holds the best element of each leaf, its
// root the winner; the leaf that lost its best is searched again for the next.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef KEY_TYPE
#define KEY_TYPE int
#define KEY(x) as_int(x)
#define LANES 1
#define LEAVES 64
#endif

#if LANES > 1
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define PLACE_IN(leaf, j) ((j) * LEAVES + (leaf))
#else
#define SYNC
#define PLACE_IN(leaf, j) ((leaf) * share + (j))
#endif

// Whether the element at place q is before the one at place p, where -1 is none.
#define BEFORE(key_q, q, key_p, p) ((q) >= 0 && ((p) < 0 || (key_q) > (key_p) || ((key_q) == (key_p) && (q) < (p))))

#define TAKE_BETTER(key_q, q, key_p, p) do { \
        if (BEFORE(key_q, q, key_p, p)) { \
            (key_p) = (key_q); \
            (p) = (q); \
        } \
    } while (0)

// Compares element j of a leaf with the best so far, unless it has been taken.
#define TRY(leaf, j) do { \
        const int i_ = PLACE_IN(leaf, j); \
        if (i_ < INPUT0_SIZE_LAST) { \
            at[INPUT0_RANK - 1] = i_; \
            const KEY_TYPE key_ = KEY(INPUT0_LOAD(input, INPUT0_INDEX_OF(at))); \
            if (taken < 0 || key_ < taken_key || (key_ == taken_key && i_ > taken)) \
                TAKE_BETTER(key_, i_, best, best_place); \
        } \
    } while (0)

#define PLAY(node) do { \
        tree[node] = tree[2 * (node)]; \
        tree_places[node] = tree_places[2 * (node)]; \
        TAKE_BETTER(tree[2 * (node) + 1], tree_places[2 * (node) + 1], tree[node], tree_places[node]); \
    } while (0)

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(topk_tree)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict values,
                  global OUTPUT1_TYPE* restrict places ARGS) {
    local KEY_TYPE tree[2 * LEAVES];
    local int tree_places[2 * LEAVES];
#if LANES > 1
    local KEY_TYPE shared[LANES];
    local int shared_places[LANES];
#endif
    const int lane = get_local_id(0);
    const int share = CEIL_DIV(INPUT0_SIZE_LAST, LEAVES);
    int at[MAX_RANK], to[MAX_RANK];
    INPUT0_UNRAVEL((int)get_group_id(0) * INPUT0_SIZE_LAST, at);
    for (int axis = 0; axis < INPUT0_RANK; ++axis) to[axis] = at[axis];
    KEY_TYPE taken_key = 0;
    int taken = -1;
    for (int leaf = lane; leaf < LEAVES; leaf += LANES) {
        KEY_TYPE best = 0;
        int best_place = -1;
        for (int j = 0; j < share; ++j) TRY(leaf, j);
        tree[LEAVES + leaf] = best;
        tree_places[LEAVES + leaf] = best_place;
    }
    for (int width = LEAVES / 2; width > 0; width /= 2) {
        SYNC;
        for (int node = width + lane; node < 2 * width; node += LANES) PLAY(node);
    }
    for (int rank = 0;;) {
        SYNC;
        taken = tree_places[1];
        taken_key = tree[1];
        if (lane == 0) {
            at[INPUT0_RANK - 1] = taken;
            to[INPUT0_RANK - 1] = rank;
            OUTPUT0_STORE(values, OUTPUT0_INDEX_OF(to), INPUT0_LOAD(input, INPUT0_INDEX_OF(at)));
            OUTPUT1_STORE(places, OUTPUT1_INDEX_OF(to), taken);
        }
        if (++rank == OUTPUT0_SIZE_LAST) return;
        KEY_TYPE best = 0;
        int best_place = -1;
#if LANES > 1
        const int leaf = taken % LEAVES;
        for (int j = lane; j < share; j += LANES) TRY(leaf, j);
        shared[lane] = best;
        shared_places[lane] = best_place;
        for (int step = LANES / 2; step > 0; step /= 2) {
            SYNC;
            if (lane < step)
                TAKE_BETTER(shared[lane + step], shared_places[lane + step], shared[lane], shared_places[lane]);
        }
        best = shared[0];
        best_place = shared_places[0];
#else
        const int leaf = taken / share;
        for (int j = 0; j < share; ++j) TRY(leaf, j);
#endif
        if (lane == 0) {
            tree[LEAVES + leaf] = best;
            tree_places[LEAVES + leaf] = best_place;
            for (int node = (LEAVES + leaf) / 2; node > 0; node /= 2) PLAY(node);
        }
    }
}
