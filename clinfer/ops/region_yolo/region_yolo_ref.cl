// Makes probabilities of what a YOLO network says of regions, which are COORDS coordinates, a confidence and CLASSES
// classes along the channels of [n, c, h, w]; any layout and float type. The logistic function of the first two and the
// confidence; of the classes, too, or their softmax (IS_SOFTMAX); the others stay. The output has the same elements in
// the same row-major order, whatever its axes. One work-item writes one element.
#include "clinfer.cl"

#ifndef COORDS
#define COORDS 4
#define CLASSES 3
#define IS_SOFTMAX 0
#endif

#define VALUE(at) ((float)INPUT0_LOAD(input, INPUT0_INDEX_OF(at)))

KERNEL(region_yolo_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL(item, at);
    const index_t to = OUTPUT0_INDEX_OF(at);
    INPUT0_UNRAVEL(item, at);
    const int entry = at[1] % (COORDS + 1 + CLASSES);
    float value = VALUE(at);
    if (entry < 2 || entry == COORDS || (entry > COORDS && !IS_SOFTMAX)) {
        value = 1 / (1 + exp(-value));
    } else if (entry > COORDS) {
        const index_t first = at[1] - entry + COORDS + 1;
        float largest = -INFINITY, sum = 0;
        for (at[1] = first; at[1] < first + CLASSES; ++at[1]) largest = fmax(largest, VALUE(at));
        for (at[1] = first; at[1] < first + CLASSES; ++at[1]) sum += exp(VALUE(at) - largest);
        value = exp(value - largest) / sum;
    }
    OUTPUT0_STORE(output, to, (OUTPUT0_COMPUTE)value);
}
