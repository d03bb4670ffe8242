// Turns the counts of the runs (OUTPUT1) into the counts before each run, in place, and writes their sum.
// One work-group of GROUP items; each item walks an equal share of consecutive runs.
#include "clinfer.cl"

#ifndef GROUP
#define GROUP 64
#endif

#define RUN(i) (OUTPUT1_OFFSET + (i) * OUTPUT1_PITCH_0)

KERNEL(count_nonzero_scan)(global OUTPUT0_TYPE* restrict total, global OUTPUT1_TYPE* restrict runs ARGS) {
    local int sums[GROUP];
    const int lane = get_local_id(0);
    const int share = CEIL_DIV(OUTPUT1_SIZE_0, GROUP);
    const int first = min(lane * share, OUTPUT1_SIZE_0);
    const int last = min(first + share, OUTPUT1_SIZE_0);
    int sum = 0;
    for (int i = first; i < last; ++i) sum += OUTPUT1_LOAD(runs, RUN(i));
    sums[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    int before = 0;
    for (int i = 0; i < lane; ++i) before += sums[i];
    for (int i = first; i < last; ++i) {
        const int count = OUTPUT1_LOAD(runs, RUN(i));
        OUTPUT1_STORE(runs, RUN(i), before);
        before += count;
    }
    if (lane == GROUP - 1) OUTPUT0_STORE(total, OUTPUT0_OFFSET, before);
}
