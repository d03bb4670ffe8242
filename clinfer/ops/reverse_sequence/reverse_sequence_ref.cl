// Turns the first elements of each sequence around: views with the batch first and the sequence last, any
// layout and rank. One work-item writes one element; INPUT1 says how many are turned (more than there are
// counts as all). Data and output hold raw storage units.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

KERNEL(reverse_sequence_ref)(const global INPUT0_TYPE* restrict input, const global INPUT1_TYPE* restrict lengths,
                             global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at);
    const index_t place = at[OUTPUT0_RANK - 1];
    const index_t length = min((long)INPUT1_LOAD(lengths, INPUT1_OFFSET + at[0] * INPUT1_PITCH_0),
                               (long)OUTPUT0_SIZE_LAST);
    if (place < length) at[OUTPUT0_RANK - 1] = length - 1 - place;
    output[to] = input[INPUT0_INDEX_OF(at)];
}
