// Rotary positions along the last axis of the views: pairs of its first ROTATED elements, which are neighbours if
// INTERLEAVED, else lie ROTATED / 2 apart, are turned, others copied. Any layout, rank and float type. INPUT0 data,
// INPUT1 cosine and INPUT2 sine are stretched to the output; if PAIRED, these have one element for each pair.
// One work-item computes up to SPAN pairs and copies, with WIDE that many at a time (4 or 16) where elements lie
// together; work-groups of LOCAL work-items, the last of which is not full.
#include "clinfer.cl"

#ifndef SPAN
#define SPAN 64
#define LOCAL 1
#define INTERLEAVED 0
#define PAIRED 0
#define ROTATED OUTPUT0_SIZE_LAST
#define WIDE 16
#endif

#define LIES_TOGETHER (INPUT0_PITCH_LAST == 1 && INPUT1_PITCH_LAST == 1 && INPUT2_PITCH_LAST == 1 \
    && OUTPUT0_PITCH_LAST == 1)

#define LOAD_WIDE(t, p, i) CLINFER_PASTE(t##_LOAD, WIDE)(p, i)

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(rope_ref)(const global INPUT0_TYPE* restrict data, const global INPUT1_TYPE* restrict cosine,
                 const global INPUT2_TYPE* restrict sine, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t pairs = ROTATED / 2, count = OUTPUT0_SIZE_LAST - pairs, spans = CEIL_DIV(count, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN;
    const index_t row = (index_t)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    const index_t end = min(first + SPAN, count);
    index_t i = first;
#if WIDE
    if (LIES_TOGETHER) {
        at[OUTPUT0_RANK - 1] = 0;
        const index_t from = INPUT0_INDEX_OF(at), to = OUTPUT0_INDEX_OF(at);
        const index_t of_cosine = INPUT1_INDEX_OF(at), of_sine = INPUT2_INDEX_OF(at), other = PAIRED ? 0 : pairs;
        for (; i + WIDE <= min(end, pairs); i += WIDE) {
            const CLINFER_PASTE(float, WIDE) a = LOAD_WIDE(INPUT0, data, from + i);
            const CLINFER_PASTE(float, WIDE) b = LOAD_WIDE(INPUT0, data, from + pairs + i);
            const CLINFER_PASTE(float, WIDE) low = a * LOAD_WIDE(INPUT1, cosine, of_cosine + i)
                - b * LOAD_WIDE(INPUT2, sine, of_sine + i);
            const CLINFER_PASTE(float, WIDE) high = b * LOAD_WIDE(INPUT1, cosine, of_cosine + other + i)
                + a * LOAD_WIDE(INPUT2, sine, of_sine + other + i);
            CLINFER_PASTE(OUTPUT0_STORE, WIDE)(output, to + i, low);
            CLINFER_PASTE(OUTPUT0_STORE, WIDE)(output, to + pairs + i, high);
        }
    }
#endif
    for (; i < min(end, pairs); ++i) {
        const index_t low = INTERLEAVED ? 2 * i : i, high = INTERLEAVED ? low + 1 : pairs + i;
        at[OUTPUT0_RANK - 1] = low;
        const index_t low_at = OUTPUT0_INDEX_OF(at);
        const INPUT0_COMPUTE a = INPUT0_LOAD(data, INPUT0_INDEX_OF(at));
        at[OUTPUT0_RANK - 1] = high;
        const index_t high_at = OUTPUT0_INDEX_OF(at);
        const INPUT0_COMPUTE b = INPUT0_LOAD(data, INPUT0_INDEX_OF(at));
        at[OUTPUT0_RANK - 1] = PAIRED ? i : low;
        OUTPUT0_STORE(output, low_at, a * INPUT1_LOAD(cosine, INPUT1_INDEX_OF(at))
                                      - b * INPUT2_LOAD(sine, INPUT2_INDEX_OF(at)));
        at[OUTPUT0_RANK - 1] = PAIRED ? i : high;
        OUTPUT0_STORE(output, high_at, b * INPUT1_LOAD(cosine, INPUT1_INDEX_OF(at))
                                       + a * INPUT2_LOAD(sine, INPUT2_INDEX_OF(at)));
    }
    for (i = max(first, pairs); i < end; ++i) {
        at[OUTPUT0_RANK - 1] = pairs + i;
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), INPUT0_LOAD(data, INPUT0_INDEX_OF(at)));
    }
}
