// Makes probabilities of what a YOLO network says of regions, which are COORDS coordinates, a confidence and CLASSES
// classes along the channels of [n, c, h, w]; any layout and float type. The logistic function of the first two and the
// confidence; of the classes, too, or their softmax (IS_SOFTMAX); the others stay. The output has the same elements in
// the same row-major order, its last axis holds whole rows of pictures. One work-item writes up to SPAN elements of a
// row; work-groups of LOCAL work-items, the last of which is not full.
#include "clinfer.cl"

#ifndef COORDS
#define COORDS 4
#define CLASSES 3
#define IS_SOFTMAX 0
#define SPAN 64
#define LOCAL 1
#endif

#define VALUE(channel, x) ((float)INPUT0_LOAD(input, INPUT0_GET_INDEX(at[0], channel, at[2], x)))

__attribute__((reqd_work_group_size(LOCAL, 1, 1)))
KERNEL(region_yolo_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t spans = CEIL_DIV(INPUT0_SIZE_X, SPAN);
    const index_t first = (index_t)get_global_id(0) % spans * SPAN, row = (index_t)get_global_id(0) / spans;
    if (row * INPUT0_SIZE_X >= INPUT0_COUNT) return;
    index_t at[MAX_RANK], to[MAX_RANK];
    INPUT0_UNRAVEL(row * INPUT0_SIZE_X, at);
    OUTPUT0_UNRAVEL(row * INPUT0_SIZE_X + first, to);
    const int entry = at[1] % (COORDS + 1 + CLASSES);
    const bool is_class = entry > COORDS;
    const index_t classes = at[1] - entry + COORDS + 1, end = min(first + SPAN, INPUT0_SIZE_X);
    if (entry < 2 || entry == COORDS || (is_class && !IS_SOFTMAX)) {
        for (index_t x = first; x < end; ++x, ++to[OUTPUT0_RANK - 1])
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(to), (OUTPUT0_COMPUTE)(1 / (1 + exp(-VALUE(at[1], x)))));
        return;
    }
    for (index_t x = first; x < end; ++x, ++to[OUTPUT0_RANK - 1]) {
        float value = VALUE(at[1], x);
        if (is_class) {
            float largest = -INFINITY, sum = 0;
            for (int i = 0; i < CLASSES; ++i) largest = fmax(largest, VALUE(classes + i, x));
            for (int i = 0; i < CLASSES; ++i) sum += exp(VALUE(classes + i, x) - largest);
            value = exp(value - largest) / sum;
        }
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(to), (OUTPUT0_COMPUTE)value);
    }
}
