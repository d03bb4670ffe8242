// Rows of bytes [..., E + 8] (shared/byte_rows.h) as floats [..., E]; any rank and float type, rows contiguous.
// One work-item makes up to SPAN elements; work-groups of LOCAL, the last of which is not full.
#include "clinfer.cl"

#ifndef SPAN
#define SPAN 64
#define LOCAL 1
#endif

#include "shared/byte_rows.h"

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(dequantise_rows_ref)(const global uchar* restrict rows, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t spans = CEIL_DIV(OUTPUT0_SIZE_LAST, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN;
    const index_t row = (index_t)get_global_id(0) / spans;
    if (row * OUTPUT0_SIZE_LAST >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(row * OUTPUT0_SIZE_LAST, at);
    const global uchar* from = rows + INPUT0_INDEX_OF(at);
    const float step = STEP_OF_ROW(from, OUTPUT0_SIZE_LAST), least = LEAST_OF_ROW(from, OUTPUT0_SIZE_LAST);
    const index_t to = OUTPUT0_INDEX_OF(at), end = min(first + SPAN, (index_t)OUTPUT0_SIZE_LAST);
    for (index_t i = first; i < end; ++i)
        OUTPUT0_STORE(output, to + i * OUTPUT0_PITCH_LAST, fma((float)from[i], step, least));
}
