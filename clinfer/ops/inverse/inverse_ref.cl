// Inverts square matrices, the last two axes, by Gauss's elimination with the largest pivots of the columns; any
// layout, rank and float type. ADJOINT: transposed. Each matrix stands, beside a unit matrix, in SCRATCH0, where what
// is eliminated is left as it was. One work-group of LANES inverts one matrix; a work-item has every LANES-th column.
#include "clinfer.cl"

#ifndef ADJOINT
#define ADJOINT 0
#define LANES 1
#define SCRATCH0_TYPE float
#endif

#define AT(row, column) matrix[(index_t)(row) * 2 * order + (column)]

__attribute__((reqd_work_group_size(LANES, 1, 1)))
KERNEL(inverse_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output,
                    global SCRATCH0_TYPE* scratch ARGS) {
    const int lane = get_local_id(0), order = INPUT0_SIZE_LAST;
    global SCRATCH0_TYPE* matrix = scratch + (index_t)get_group_id(0) * order * order * 2;
    index_t at[MAX_RANK];
    INPUT0_UNRAVEL((index_t)get_group_id(0) * order * order, at);
    for (int row = 0; row < order; ++row) {
        for (int column = lane; column < order; column += LANES) {
            at[INPUT0_RANK - 2] = row;
            at[INPUT0_RANK - 1] = column;
            AT(row, column) = INPUT0_LOAD(input, INPUT0_INDEX_OF(at));
            AT(row, order + column) = row == column;
        }
    }
    for (int step = 0; step < order; ++step) {
        barrier(CLK_GLOBAL_MEM_FENCE);
        int pivot = step;
        for (int row = step + 1; row < order; ++row)
            if (fabs(AT(row, step)) > fabs(AT(pivot, step))) pivot = row;
        const SCRATCH0_TYPE largest = AT(pivot, step);
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int column = lane; column < 2 * order && pivot != step; column += LANES) {
            const SCRATCH0_TYPE upper = AT(step, column);
            AT(step, column) = AT(pivot, column);
            AT(pivot, column) = upper;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int row = 0; row < order; ++row) {
            const SCRATCH0_TYPE factor = AT(row, step) / largest;
            for (int column = step + 1 + lane; column < 2 * order && row != step; column += LANES)
                AT(row, column) -= factor * AT(step, column);
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int row = 0; row < order; ++row) {
        for (int column = lane; column < order; column += LANES) {
            at[OUTPUT0_RANK - 2] = ADJOINT ? column : row;
            at[OUTPUT0_RANK - 1] = ADJOINT ? row : column;
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), AT(row, order + column) / AT(row, row));
        }
    }
}
