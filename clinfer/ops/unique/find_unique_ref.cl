// Sorts ARG_ITEMS items of ARG_PARTS elements each and numbers the different ones. One work-group of LANES
// work-items does it all: a merge sort of item numbers, stable and from the smallest to the largest, between the
// halves of SCRATCH0 (i32 [2, items]), in which every item finds its new place by binary search in the other
// run; then the number of each item. Items are consecutive in the view of the input; any layout, rank and type.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef LANES
#define LANES 1
#define KEY_TYPE int
#define KEY(x) as_int(x)
#define SORTED 1
#define ARG_ITEMS 4096
#define ARG_PARTS 1
#endif

#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

// Below 0 if item a is smaller than b, 0 if they are equal.
int FUNC(compare)(const global INPUT0_TYPE* input, int a, int b ARGS) {
    int at[MAX_RANK] = {0};
    for (int part = 0; part < ARG_PARTS; ++part) {
        INPUT0_UNRAVEL(a * ARG_PARTS + part, at);
        const KEY_TYPE key_a = KEY(INPUT0_LOAD(input, INPUT0_INDEX_OF(at)));
        INPUT0_UNRAVEL(b * ARG_PARTS + part, at);
        const KEY_TYPE key_b = KEY(INPUT0_LOAD(input, INPUT0_INDEX_OF(at)));
        if (key_a != key_b) return key_a < key_b ? -1 : 1;
    }
    return 0;
}

#define FIRSTS(i) (OUTPUT1_OFFSET + (i) * OUTPUT1_PITCH_0)
#define NUMBERS(i) (OUTPUT2_OFFSET + (i) * OUTPUT2_PITCH_0)
#define COUNTS(i) (OUTPUT3_OFFSET + (i) * OUTPUT3_PITCH_0)

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(find_unique_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict total,
                        global OUTPUT1_TYPE* restrict firsts, global OUTPUT2_TYPE* restrict numbers,
                        global OUTPUT3_TYPE* restrict counts, global int* scratch ARGS) {
    local int sums[LANES];
    const int lane = get_local_id(0);
    global int* from = scratch;
    global int* to = scratch + ARG_ITEMS;
    for (int i = lane; i < ARG_ITEMS; i += LANES) from[i] = i;
    for (int width = 1; width < ARG_ITEMS; width *= 2) {
        SYNC;
        for (int i = lane; i < ARG_ITEMS; i += LANES) {
            const int run = i / width, other = (run ^ 1) * width, pair = run / 2 * 2 * width;
            int low = min(other, ARG_ITEMS), high = min(other + width, ARG_ITEMS);
            const int begin = low;
            while (low < high) {
                const int middle = (low + high) / 2;
                const int order = FUNC(compare)(input, from[middle], from[i] PASS_ARGS);
                if (order < 0 || (order == 0 && run & 1)) low = middle + 1;
                else high = middle;
            }
            to[pair + i - run * width + low - begin] = from[i];
        }
        global int* sorted = to;
        to = from;
        from = sorted;
    }
    SYNC;
    // The first of equal items gets a mark: at its place among the sorted ones or, if not SORTED, in the input.
    for (int i = lane; i < ARG_ITEMS; i += LANES) {
        const int head = i == 0 || FUNC(compare)(input, from[i - 1], from[i] PASS_ARGS) != 0;
        to[SORTED ? i : from[i]] = head;
    }
    SYNC;
    // The marks become the numbers of the items that they belong to.
    const int share = CEIL_DIV(ARG_ITEMS, LANES);
    const int first = min(lane * share, ARG_ITEMS), last = min(first + share, ARG_ITEMS);
    int sum = 0;
    for (int i = first; i < last; ++i) sum += to[i];
    sums[lane] = sum;
    SYNC;
    int before = 0, all = 0;
    for (int i = 0; i < LANES; ++i) {
        before += i < lane ? sums[i] : 0;
        all += sums[i];
    }
    for (int i = first; i < last; ++i) {
        const int mark = to[i];
        before += mark;
        // At -1 stands who is no first.
        to[i] = mark ? before - 1 : -1;
    }
    if (lane == 0) OUTPUT0_STORE(total, OUTPUT0_OFFSET, all);
    SYNC;
    // Each first counts its equals, which follow it among the sorted ones.
    for (int i = lane; i < ARG_ITEMS; i += LANES) {
        const int number = to[SORTED ? i : from[i]];
        if (number < 0) continue;
        OUTPUT1_STORE(firsts, FIRSTS(number), from[i]);
        int end = i;
        do {
            OUTPUT2_STORE(numbers, NUMBERS(from[end]), number);
            ++end;
        } while (end < ARG_ITEMS && to[SORTED ? end : from[end]] < 0);
        OUTPUT3_STORE(counts, COUNTS(number), end - i);
    }
}
