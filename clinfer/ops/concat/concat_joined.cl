// Copies several inputs into their places behind one another in each row of OUTPUT0, a view [rows, length]. Input n is
// seen as one of its rows, of INPUT<n>_SIZE_0 contiguous elements; its other rows follow. Elements are storage units.
// A work-item copies VEC elements of an input's row, or the rest of the row; those of a row of the output are
// neighbours and go through all inputs. The last work-group is not full. An input that lies in its place stays there.
// PARAMETERS: PARAMETER(n) of each input, separated by commas; FOR_OTHERS(DO): DO(n) of each input but the first.
#include "clinfer.cl"

#ifndef VEC
#define VEC 4
#define PARAMETERS PARAMETER(0), PARAMETER(1)
#define FOR_OTHERS(DO) DO(1)
#endif

#include "shared/copy_row.h"

#define PARAMETER(n) const global INPUT0_TYPE* input##n
#define PIECES(n) CEIL_DIV(INPUT##n##_SIZE_0, VEC)
#define MORE_PIECES(n) + PIECES(n)
// Goes on to input n if the piece lies behind those of the one before.
#define PASS_ON(n) \
    if (piece >= pieces) { \
        piece -= pieces; \
        place += length; \
        pieces = PIECES(n); \
        length = INPUT##n##_SIZE_0; \
        from = input##n + INPUT##n##_OFFSET; \
    }

KERNEL(concat_joined)(PARAMETERS, global OUTPUT0_TYPE* output ARGS) {
    const index_t item = get_global_id(0);
    const index_t pieces_of_row = PIECES(0) FOR_OTHERS(MORE_PIECES);
    const index_t row = item / pieces_of_row;
    if (row >= OUTPUT0_SIZE_0) return;
    index_t piece = item - row * pieces_of_row, place = 0, pieces = PIECES(0), length = INPUT0_SIZE_0;
    const global INPUT0_TYPE* from = input0 + INPUT0_OFFSET;
    FOR_OTHERS(PASS_ON)
    const index_t first = piece * VEC;
    from += row * length + first;
    global OUTPUT0_TYPE* to = output + OUTPUT0_GET_INDEX(row, place + first);
    if (from == to) return;
    FUNC(copy_row)(from, to, min((index_t)VEC, length - first));
}
