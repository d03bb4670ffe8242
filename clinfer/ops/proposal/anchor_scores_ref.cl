// The scores (INPUT0) of all anchors, 0 where the box that INPUT1 [n, 4 * a, h, w] makes of one is too small for the
// picture (INPUT2). Anchors are ANCHORS, and scores the second half of [n, 2 * a, h, w], or INPUT3 [h * w * a, 4], and
// scores [n, a, h, w]. Any float type. One work-item looks at one anchor.
#include "clinfer.cl"
#include "anchors.h"

KERNEL(anchor_scores_ref)(const global INPUT0_TYPE* restrict scores, const global INPUT1_TYPE* restrict offsets,
                          const global INPUT2_TYPE* restrict pictures,
#if !HAS_ANCHORS
                          const global INPUT3_TYPE* restrict anchors,
#endif
                          global OUTPUT0_TYPE* restrict output ARGS) {
    const int item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    const int image = item / OUTPUT0_SIZE_1, place = item % OUTPUT0_SIZE_1, count = INPUT1_SIZE_F / 4;
    const int number = place / (INPUT1_SIZE_Y * INPUT1_SIZE_X);
    const int row = place / INPUT1_SIZE_X % INPUT1_SIZE_Y, column = place % INPUT1_SIZE_X;
#if HAS_ANCHORS
    const float4 anchor = FUNC(anchor_at)(number, row, column);
#else
    const float4 anchor = LISTED_ANCHOR(INPUT3, anchors, (row * INPUT1_SIZE_X + column) * count + number);
#endif
    const float4 picture = PICTURE(INPUT2, pictures, image);
    const float4 box = FUNC(box_of)(anchor, OFFSETS(INPUT1, offsets, image, number, row, column), picture);
    const float score = INPUT0_LOAD(scores, INPUT0_GET_INDEX(image, HAS_ANCHORS * count + number, row, column));
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(image, place), FUNC(is_large)(box, picture) ? score : 0.0f);
}
