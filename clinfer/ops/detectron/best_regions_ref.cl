// Writes those regions of INPUT0 [r, 4] that INPUT1 names, and zeros where it names fewer. Any float type. One
// work-item writes one number.
#include "clinfer.cl"

KERNEL(best_regions_ref)(const global INPUT0_TYPE* restrict regions, const global INPUT1_TYPE* restrict places,
                         global OUTPUT0_TYPE* restrict output ARGS) {
    const int item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    const int rank = item / 4, number = item % 4;
    OUTPUT0_COMPUTE value = 0;
    if (rank < INPUT1_SIZE_0) {
        const int place = INPUT1_LOAD(places, INPUT1_OFFSET + rank * INPUT1_PITCH_0);
        value = INPUT0_LOAD(regions, INPUT0_GET_INDEX(place, number));
    }
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(rank, number), value);
}
