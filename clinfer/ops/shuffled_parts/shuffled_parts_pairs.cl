// Channels of two tensors of bytes in turn, cut into OUTPUTS parts, for CPUs: the first of each, then the second of
// each. The second part begins with channel ARG_SECOND of them, an even one. One work-item computes up to RUN pixels of
// a block of 16 channels. Views: [B, blocks, pixels, 16].
// Dimension 0: pixels by RUN, 1: blocks of both parts, 2: batch.
#include "clinfer.cl"

#ifndef OUTPUTS
#define OUTPUTS 1
#define RUN 512
#define ARG_SECOND 0
#endif

#if OUTPUTS > 1
#define SECOND_PARAMETER , global OUTPUT1_TYPE* restrict second
#else
#define SECOND_PARAMETER
#endif

// Eight channels of a pixel of one tensor, from `channel` on: eights of a block follow one another, pixel by pixel.
typedef struct { const global ulong *low, *high; int shift; } FUNC(eight);

INLINED FUNC(eight) FUNC(find_eight)(const global uchar* input, const int channel, const int pitch, const int blocks) {
    const int low = channel / 8, high = min(low + 1, blocks * 2 - 1);
    const FUNC(eight) found = {(const global ulong*)(input + low / 2 * pitch) + low % 2,
                               (const global ulong*)(input + high / 2 * pitch) + high % 2, channel % 8 * 8};
    return found;
}

INLINED uchar8 FUNC(channels)(const FUNC(eight) from, const int pixel) {
    const ulong low = from.low[pixel * 2];
    return as_uchar8(from.shift ? low >> from.shift | from.high[pixel * 2] << (64 - from.shift) : low);
}

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(shuffled_parts_pairs)(const global INPUT0_TYPE* restrict one, const global INPUT1_TYPE* restrict other,
                             global OUTPUT0_TYPE* restrict part SECOND_PARAMETER ARGS) {
    const int batch = get_global_id(2), first = (int)get_global_id(0) * RUN;
    int block = get_global_id(1), channel = block * 16;
    global uchar* to = (global uchar*)part + batch * OUTPUT0_PITCH_0;
#if OUTPUTS > 1
    if (block >= OUTPUT0_SIZE_1) {
        block -= OUTPUT0_SIZE_1, channel = ARG_SECOND + block * 16;
        to = (global uchar*)second + batch * OUTPUT1_PITCH_0;
    }
#endif
    to += block * OUTPUT0_PITCH_1;
    const FUNC(eight) evens = FUNC(find_eight)((const global uchar*)one + batch * INPUT0_PITCH_0, channel / 2,
                                               INPUT0_PITCH_1, INPUT0_SIZE_1);
    const FUNC(eight) odds = FUNC(find_eight)((const global uchar*)other + batch * INPUT1_PITCH_0, channel / 2,
                                              INPUT1_PITCH_1, INPUT1_SIZE_1);
    for (int pixel = first; pixel < min(first + RUN, (int)INPUT0_SIZE_2); ++pixel) {
        const uchar8 e = FUNC(channels)(evens, pixel), o = FUNC(channels)(odds, pixel);
        const uchar16 both = (uchar16)(e.s0, o.s0, e.s1, o.s1, e.s2, o.s2, e.s3, o.s3,
                                       e.s4, o.s4, e.s5, o.s5, e.s6, o.s6, e.s7, o.s7);
        vstore16(both, pixel, to);
    }
}
