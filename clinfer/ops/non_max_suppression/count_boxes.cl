// Adds the lengths of the lists (OUTPUT3) up: OUTPUT4 is the sum of those before each, OUTPUT0 that of all.
// One work-item does it all.
#include "clinfer.cl"

KERNEL(count_boxes)(global OUTPUT0_TYPE* restrict total, const global OUTPUT3_TYPE* restrict counts,
                    global OUTPUT4_TYPE* restrict starts ARGS) {
    int sum = 0;
    for (int list = 0; list < OUTPUT3_SIZE_0; ++list) {
        OUTPUT4_STORE(starts, OUTPUT4_OFFSET + list * OUTPUT4_PITCH_0, sum);
        sum += OUTPUT3_LOAD(counts, OUTPUT3_OFFSET + list * OUTPUT3_PITCH_0);
    }
    OUTPUT0_STORE(total, OUTPUT0_OFFSET, sum);
}
