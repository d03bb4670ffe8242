// Hands the places, numbers and counts that were found over as outputs of their types. One work-item copies
// one of each.
#include "clinfer.cl"

KERNEL(unique_places)(const global INPUT2_TYPE* restrict firsts, const global INPUT3_TYPE* restrict numbers,
                      const global INPUT4_TYPE* restrict counts, global OUTPUT1_TYPE* restrict first_places,
                      global OUTPUT2_TYPE* restrict place_numbers, global OUTPUT3_TYPE* restrict number_counts ARGS) {
    const int item = get_global_id(0);
    if (item >= OUTPUT2_SIZE_0) return;
    OUTPUT2_STORE(place_numbers, OUTPUT2_OFFSET + item * OUTPUT2_PITCH_0,
                  INPUT3_LOAD(numbers, INPUT3_OFFSET + item * INPUT3_PITCH_0));
    if (item >= OUTPUT1_SIZE_0) return;
    OUTPUT1_STORE(first_places, OUTPUT1_OFFSET + item * OUTPUT1_PITCH_0,
                  INPUT2_LOAD(firsts, INPUT2_OFFSET + item * INPUT2_PITCH_0));
    OUTPUT3_STORE(number_counts, OUTPUT3_OFFSET + item * OUTPUT3_PITCH_0,
                  INPUT4_LOAD(counts, INPUT4_OFFSET + item * INPUT4_PITCH_0));
}
