// Makes channels of places as Darknet does it: the data as [n, c / STRIDE^2, h * STRIDE, w * STRIDE] gives its blocks
// of STRIDE x STRIDE as [n, (place in the block, channel), h, w], which is the output in row-major order; any layout
// and type. One work-item writes one element.
#include "clinfer.cl"

#ifndef STRIDE
#define STRIDE 2
#endif

KERNEL(reorg_yolo_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at);
    INPUT0_UNRAVEL(item, at);
    const index_t few = INPUT0_SIZE_F / (STRIDE * STRIDE);
    const index_t place = at[1] / few, channel = at[1] % few;
    const index_t y = at[2] * STRIDE + place / STRIDE, x = at[3] * STRIDE + place % STRIDE;
    const index_t from = ((at[0] * few + channel) * INPUT0_SIZE_Y * STRIDE + y) * INPUT0_SIZE_X * STRIDE + x;
    INPUT0_UNRAVEL(from, at);
    OUTPUT0_STORE(output, to, INPUT0_LOAD(input, INPUT0_INDEX_OF(at)));
}
