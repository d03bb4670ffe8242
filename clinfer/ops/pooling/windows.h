// Windows over [b, f, (z,) y, x], of which only the part that lies inside the data is visited. EXCLUDE_PAD: see
// pool_ref. Kernels declare b and f, the batch and the channel.
#ifndef KERNEL_X
#define EXCLUDE_PAD 1
#define LOWEST -INFINITY
#define KERNEL_Y 2
#define KERNEL_X 2
#define STRIDE_Y 1
#define STRIDE_X 1
#define DILATION_Y 1
#define DILATION_X 1
#define ARG_BEGIN_Y 0
#define ARG_BEGIN_X 0
#define ARG_END_Y 0
#define ARG_END_X 0
#endif

// The first and the last plus one of the window's steps that hit [0, limit) from `start` on.
#define FIRST_STEP(start, dilation) max((index_t)0, CEIL_DIV(-(start), dilation))
#define LAST_STEP(start, dilation, kernel, limit) min((index_t)(kernel), CEIL_DIV((limit) - (start), dilation))

// How many steps from `start` on a mean counts along an axis of `size` elements, with the pads `end` behind them.
#if EXCLUDE_PAD
#define COUNTED(start, dilation, kernel, size, end) \
    max(LAST_STEP(start, dilation, kernel, size) - FIRST_STEP(start, dilation), (index_t)0)
#else
#define COUNTED(start, dilation, kernel, size, end) LAST_STEP(start, dilation, kernel, (size) + (end))
#endif

// DECLARE_ROWS takes the output's y and z from dimension 1 and declares `rows`, the steps along them that a mean
// counts. FOR_ROWS loops over those inside the data, of which DATA_INDEX(x) is an element; ROW_OF(T, x) is one of the
// row of the output, or of what fused operations read, and RESULT_AT(x) its coordinates.
#define DECLARE_Y \
    const index_t out_y = (index_t)get_global_id(1) % OUTPUT0_SIZE_Y, start_y = out_y * STRIDE_Y - ARG_BEGIN_Y; \
    const index_t first_y = FIRST_STEP(start_y, DILATION_Y); \
    const index_t last_y = LAST_STEP(start_y, DILATION_Y, KERNEL_Y, INPUT0_SIZE_Y);
#define FOR_Y for (index_t ky = first_y; ky < last_y; ++ky)
#define ROWS_Y COUNTED(start_y, DILATION_Y, KERNEL_Y, INPUT0_SIZE_Y, ARG_END_Y)
#define IN_Y (start_y + ky * DILATION_Y)
#if INPUT0_RANK == 5
#define DECLARE_ROWS \
    DECLARE_Y \
    const index_t out_z = (index_t)get_global_id(1) / OUTPUT0_SIZE_Y, start_z = out_z * STRIDE_Z - ARG_BEGIN_Z; \
    const index_t first_z = FIRST_STEP(start_z, DILATION_Z); \
    const index_t last_z = LAST_STEP(start_z, DILATION_Z, KERNEL_Z, INPUT0_SIZE_Z); \
    const index_t rows = ROWS_Y * COUNTED(start_z, DILATION_Z, KERNEL_Z, INPUT0_SIZE_Z, ARG_END_Z);
#define FOR_ROWS for (index_t kz = first_z; kz < last_z; ++kz) FOR_Y
#define DATA_INDEX(x) INPUT0_GET_INDEX(b, f, start_z + kz * DILATION_Z, IN_Y, x)
#define ROW_OF(T, x) T##_GET_INDEX(b, f, out_z, out_y, x)
#define RESULT_AT(x) {b, f, out_z, out_y, x}
#else
#define DECLARE_ROWS DECLARE_Y const index_t rows = ROWS_Y;
#define FOR_ROWS FOR_Y
#define DATA_INDEX(x) INPUT0_GET_INDEX(b, f, IN_Y, x)
#define ROW_OF(T, x) T##_GET_INDEX(b, f, out_y, x)
#define RESULT_AT(x) {b, f, out_y, x}
#endif
