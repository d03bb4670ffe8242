// Follows the beams of a search back: INPUT0 has the tokens [steps, batch, beams], INPUT1 the beam that each continues,
// INPUT2 the steps that count [batch], INPUT3 the end token. Any layout and type. One work-item writes one beam. A
// parent that does not exist means the nearest one.
#include "clinfer.cl"

KERNEL(gather_tree_ref)(const global INPUT0_TYPE* restrict tokens, const global INPUT1_TYPE* restrict parents,
                        const global INPUT2_TYPE* restrict lengths, const global INPUT3_TYPE* restrict end_token,
                        global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    const index_t batch = item / OUTPUT0_SIZE_2;
    index_t beam = item % OUTPUT0_SIZE_2;
    if (batch >= OUTPUT0_SIZE_1) return;
    const INPUT0_COMPUTE end = INPUT3_LOAD(end_token, INPUT3_OFFSET);
    const index_t column = OUTPUT0_GET_INDEX(0, batch, beam);
    const index_t steps = min(OUTPUT0_SIZE_0, (index_t)INPUT2_LOAD(lengths, INPUT2_OFFSET + batch * INPUT2_PITCH_0));
    for (index_t step = OUTPUT0_SIZE_0 - 1; step >= steps; --step)
        OUTPUT0_STORE(output, column + step * OUTPUT0_PITCH_0, end);
    for (index_t step = steps - 1; step >= 0; --step) {
        const INPUT0_COMPUTE token = INPUT0_LOAD(tokens, INPUT0_GET_INDEX(step, batch, beam));
        OUTPUT0_STORE(output, column + step * OUTPUT0_PITCH_0, token);
        beam = (index_t)INPUT1_LOAD(parents, INPUT1_GET_INDEX(step, batch, beam));
        beam = clamp(beam, (index_t)0, OUTPUT0_SIZE_2 - 1);
    }
    bool has_ended = false;
    for (index_t step = 0; step < steps; ++step) {
        const index_t at = column + step * OUTPUT0_PITCH_0;
        if (has_ended) OUTPUT0_STORE(output, at, end);
        has_ended |= OUTPUT0_LOAD(output, at) == end;
    }
}
