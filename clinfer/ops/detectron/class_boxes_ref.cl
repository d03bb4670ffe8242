// The boxes (OUTPUT0 [c - 1, r, 4], longer by a pixel) that offsets (INPUT1 [r, c * 4]) make of regions (INPUT0 [r,
// 4]) for each class but the first, and their scores (INPUT2 [r, c], OUTPUT1 [c - 1, 1, r]); all 0 for regions without
// an area. Any float type. One work-item makes one box.
#include "clinfer.cl"

#ifndef LONGEST
#define WEIGHT_X 1.0f
#define WEIGHT_Y 1.0f
#define WEIGHT_W 1.0f
#define WEIGHT_H 1.0f
#define LONGEST 4.0f
#endif

#define OFFSET(i) ((float)INPUT1_LOAD(offsets, INPUT1_GET_INDEX(region, number * 4 + i)))
#define CORNER(i) ((float)INPUT0_LOAD(regions, INPUT0_GET_INDEX(region, i)))

KERNEL(class_boxes_ref)(const global INPUT0_TYPE* restrict regions, const global INPUT1_TYPE* restrict offsets,
                        const global INPUT2_TYPE* restrict scores, global OUTPUT0_TYPE* restrict boxes,
                        global OUTPUT1_TYPE* restrict box_scores ARGS) {
    const int item = get_global_id(0);
    if (item >= OUTPUT1_COUNT) return;
    const int region = item % OUTPUT1_SIZE_2, list = item / OUTPUT1_SIZE_2, number = list + 1;
    const float2 first = (float2)(CORNER(0), CORNER(1)), sides = (float2)(CORNER(2), CORNER(3)) - first;
    float4 box = 0;
    float score = 0;
    if (sides.x > 0 && sides.y > 0) {
        const float2 longer = sides + 1;
        const float2 centre = first + 0.5f * longer + (float2)(OFFSET(0) / WEIGHT_X, OFFSET(1) / WEIGHT_Y) * longer;
        const float2 factors = exp(fmin((float2)(OFFSET(2) / WEIGHT_W, OFFSET(3) / WEIGHT_H), LONGEST));
        const float2 half_sides = 0.5f * factors * longer;
        box = fmax((float4)(centre - half_sides, centre + half_sides - 1), 0.0f) + (float4)(0, 0, 1, 1);
        score = INPUT2_LOAD(scores, INPUT2_GET_INDEX(region, number));
    }
    OUTPUT1_STORE(box_scores, OUTPUT1_GET_INDEX(list, 0, region), score);
    OUTPUT0_STORE(boxes, OUTPUT0_GET_INDEX(list, region, 0), box.x);
    OUTPUT0_STORE(boxes, OUTPUT0_GET_INDEX(list, region, 1), box.y);
    OUTPUT0_STORE(boxes, OUTPUT0_GET_INDEX(list, region, 2), box.z);
    OUTPUT0_STORE(boxes, OUTPUT0_GET_INDEX(list, region, 3), box.w);
}
