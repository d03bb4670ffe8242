// Copies values [a, b, S, V] into scratch [a, b, S, WIDTH] of f32, WIDTH being V rounded up to whole float16.
// Values are floats or, if IN_BYTE_ROWS, rows of bytes (shared/byte_rows.h).
// One work-item copies one row and fills it up with zeros. Dimension 0: S, 1: a times b.
#include "clinfer.cl"

#ifndef WIDTH
#define WIDTH 16
#define IN_BYTE_ROWS 0
#define SCRATCH1_GET_INDEX SCRATCH0_GET_INDEX
#endif

#include "shared/byte_rows.h"

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(sdpa_pack_values)(const global INPUT2_TYPE* restrict value, global float* restrict packed ARGS) {
    const int row = get_global_id(0);
    const int b = (int)get_global_id(1) % INPUT2_SIZE_1;
    const int a = (int)get_global_id(1) / INPUT2_SIZE_1;
    const int from = INPUT2_GET_INDEX(a, b, row, 0);
    global float* to = packed + SCRATCH1_GET_INDEX(a, b, row, 0);
#if IN_BYTE_ROWS
    const float step = STEP_OF_ROW(value + from, INPUT2_SIZE_3), least = LEAST_OF_ROW(value + from, INPUT2_SIZE_3);
    for (int i = 0; i < WIDTH; ++i) to[i] = i < INPUT2_SIZE_3 ? fma((float)value[from + i], step, least) : 0;
#else
    for (int i = 0; i < WIDTH; ++i) to[i] = i < INPUT2_SIZE_3 ? INPUT2_LOAD(value, from + i) : 0;
#endif
}
