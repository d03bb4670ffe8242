// Adds up the sliding blocks that cover each pixel; any layout, rank (2 or 3) and type. A block has ARG_KERNEL_H x
// ARG_KERNEL_W elements, ARG_BLOCKS_W blocks stand beside each other. One work-item writes one element.
#include "clinfer.cl"

#ifndef STRIDE_H
#define STRIDE_H 1
#define STRIDE_W 1
#define DILATION_H 1
#define DILATION_W 1
#define PAD_H 0
#define PAD_W 0
#define ARG_KERNEL_H 2
#define ARG_KERNEL_W 2
#define ARG_BLOCKS_H 3
#define ARG_BLOCKS_W 3
#endif

KERNEL(col2im_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at);
    const index_t channel = at[OUTPUT0_RANK - 3];
    const index_t y = at[OUTPUT0_RANK - 2] + PAD_H;
    const index_t x = at[OUTPUT0_RANK - 1] + PAD_W;
    OUTPUT0_COMPUTE sum = 0;
    for (index_t i = 0; i < ARG_KERNEL_H; ++i) {
        const index_t top = y - i * DILATION_H;
        if (top < 0 || top % STRIDE_H || top / STRIDE_H >= ARG_BLOCKS_H) continue;
        for (index_t j = 0; j < ARG_KERNEL_W; ++j) {
            const index_t left = x - j * DILATION_W;
            if (left < 0 || left % STRIDE_W || left / STRIDE_W >= ARG_BLOCKS_W) continue;
            at[INPUT0_RANK - 2] = (channel * ARG_KERNEL_H + i) * ARG_KERNEL_W + j;
            at[INPUT0_RANK - 1] = top / STRIDE_H * ARG_BLOCKS_W + left / STRIDE_W;
            sum += INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
        }
    }
    OUTPUT0_STORE(output, to, sum);
}
