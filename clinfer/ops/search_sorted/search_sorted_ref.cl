// Tells how many numbers of a row, which stand in ascending order, are below a value, or not above it
// (COUNTS_EQUAL); any layout, rank and type. Input ROWS has the rows along its last axis, the other one the values: all
// belong to one row (IS_ONE_ROW), or each to the row of its leading coordinates. They are compared as NUMBER.
// One work-item looks for one value.
#include "clinfer.cl"

#ifndef ROWS
#define ROWS 0
#define COUNTS_EQUAL 0
#define IS_ONE_ROW 1
#define NUMBER float
#endif

#if ROWS == 0
#define ROW(at) INPUT0_LOAD(input0, INPUT0_INDEX_OF(at))
#define ROW_RANK INPUT0_RANK
#define ROW_SIZE INPUT0_SIZE_LAST
#define VALUE(at) INPUT1_LOAD(input1, INPUT1_INDEX_OF(at))
#else
#define ROW(at) INPUT1_LOAD(input1, INPUT1_INDEX_OF(at))
#define ROW_RANK INPUT1_RANK
#define ROW_SIZE INPUT1_SIZE_LAST
#define VALUE(at) INPUT0_LOAD(input0, INPUT0_INDEX_OF(at))
#endif

KERNEL(search_sorted_ref)(const global INPUT0_TYPE* restrict input0, const global INPUT1_TYPE* restrict input1,
                          global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at);
    const NUMBER value = (NUMBER)VALUE(at);
    index_t low = 0, high = ROW_SIZE;
    while (low < high) {
        const index_t middle = low + (high - low) / 2;
        at[IS_ONE_ROW ? 0 : ROW_RANK - 1] = middle;
        const NUMBER number = (NUMBER)ROW(at);
        if (COUNTS_EQUAL ? !(value < number) : number < value) low = middle + 1;
        else high = middle;
    }
    OUTPUT0_STORE(output, to, low);
}
