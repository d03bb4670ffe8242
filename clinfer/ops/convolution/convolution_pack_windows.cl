// Packs weights of bf16 for what convolution_windows.cl makes of data: for each block of 16 outputs, step of 32 values
// (channels x FILTER_X) and row of the filter 16 pairs of values x 16 outputs x 2, zeros behind the last ones.
// Views: weights [G, O, I, Z, Y, X], one group.
// Dimension 0: rows of the filter, then steps, then blocks of outputs.
#include "clinfer.cl"

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL(convolution_pack_windows)(const global ushort* restrict weights, global ushort* restrict packed ARGS) {
    const int values = INPUT1_SIZE_2 * INPUT1_SIZE_X, steps = CEIL_DIV(values, 32), place = (int)get_global_id(0);
    const int y = place % INPUT1_SIZE_Y, step = place / INPUT1_SIZE_Y % steps, block = place / INPUT1_SIZE_Y / steps;
    global ushort* to = packed + (index_t)place * 512;
    for (int n = 0; n < 512; ++n) {
        const int value = step * 32 + n / 32 * 2 + n % 2, output = block * 16 + n / 2 % 16;
        const index_t at[MAX_RANK] = {0, output, value / INPUT1_SIZE_X, 0, y, value % INPUT1_SIZE_X};
        to[n] = value < values && output < INPUT1_SIZE_1 ? weights[INPUT1_INDEX_OF(at)] : 0;
    }
}
