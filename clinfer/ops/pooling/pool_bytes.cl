// Maximum of windows of bytes in blocks of 16 channels, for CPUs, of two spatial axes without dilation.
// One work-item computes rows of the output (tile_runs.h) of one block: the largest of the window's rows first, pixel
// by pixel of the data, then the largest of neighbours among those. Views: [B, blocks, Y, X, 16]. Where a window lies
// outside of the data, the result is 0.
// Limits: MOST_WIDTH pixels in a row of the data.
#include "clinfer.cl"

#include "shared/tile_runs.h"
#include "windows.h"

#define MOST_WIDTH 1024

// The largest of `count` vectors, `pitch` bytes from one another; none: 0.
INLINED uchar16 FUNC(largest)(const global uchar* from, const int count, const int pitch) {
    uchar16 result = 0;
    for (int i = 0; i < count; ++i) result = max(result, vload16(0, from + i * pitch));
    return result;
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(pool_bytes)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int block = get_global_id(1), batch = get_global_id(2), width = INPUT0_SIZE_3;
    const global uchar* picture = (const global uchar*)input + batch * INPUT0_PITCH_0 + block * INPUT0_PITCH_1;
    global uchar* results = (global uchar*)output + batch * OUTPUT0_PITCH_0 + block * OUTPUT0_PITCH_1;
    uchar16 highest[MOST_WIDTH];
    EACH_TILE_OF_RUN(0, y, OUTPUT0_SIZE_2) {
        const int top = y * STRIDE_Y - ARG_BEGIN_Y;
        const int from = clamp(top, 0, (int)INPUT0_SIZE_2);
        const int rows = clamp(top + KERNEL_Y - from, 0, INPUT0_SIZE_2 - from);
        const global uchar* row = picture + from * INPUT0_PITCH_2;
        if (rows == KERNEL_Y)
            for (int x = 0; x < width; ++x) highest[x] = FUNC(largest)(row + x * 16, KERNEL_Y, INPUT0_PITCH_2);
        else
            for (int x = 0; x < width; ++x) highest[x] = FUNC(largest)(row + x * 16, rows, INPUT0_PITCH_2);
        for (int x = 0; x < OUTPUT0_SIZE_3; ++x) {
            const int left = x * STRIDE_X - ARG_BEGIN_X;
            uchar16 result = 0;
            if (left >= 0 && left + KERNEL_X <= width)
                for (int i = 0; i < KERNEL_X; ++i) result = max(result, highest[left + i]);
            else
                for (int i = max(left, 0); i < min(left + KERNEL_X, width); ++i) result = max(result, highest[i]);
            vstore16(result, 0, results + y * OUTPUT0_PITCH_2 + x * 16);
        }
    }
}
