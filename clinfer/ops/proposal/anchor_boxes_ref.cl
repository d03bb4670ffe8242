// The boxes that INPUT1 [n, 4 * a, h, w] makes of the anchors whose scores are INPUT0 and whose places INPUT3, both
// [n, k]: corners (OUTPUT0) and scores (OUTPUT1), with DROPS_SMALL minus infinity for boxes that are too small for the
// picture (INPUT2). EXTENDED: last corners are EXTENT further. Anchors are ANCHORS or INPUT4 [h * w * a, 4]. Any float
// type. One work-item makes one box.
#include "clinfer.cl"
#include "anchors.h"

#ifndef DROPS_SMALL
#define DROPS_SMALL 0
#define EXTENDED 1
#endif

KERNEL(anchor_boxes_ref)(const global INPUT0_TYPE* restrict scores, const global INPUT1_TYPE* restrict offsets,
                         const global INPUT2_TYPE* restrict pictures, const global INPUT3_TYPE* restrict places,
#if !HAS_ANCHORS
                         const global INPUT4_TYPE* restrict anchors,
#endif
                         global OUTPUT0_TYPE* restrict output, global OUTPUT1_TYPE* restrict kept ARGS) {
    const int item = get_global_id(0);
    if (item >= OUTPUT1_COUNT) return;
    const int image = item / OUTPUT1_SIZE_2, rank = item % OUTPUT1_SIZE_2;
    const int place = INPUT3_LOAD(places, INPUT3_GET_INDEX(image, rank));
    const int number = place / (INPUT1_SIZE_Y * INPUT1_SIZE_X);
    const int row = place / INPUT1_SIZE_X % INPUT1_SIZE_Y, column = place % INPUT1_SIZE_X;
#if HAS_ANCHORS
    const float4 anchor = FUNC(anchor_at)(number, row, column);
#else
    const int at = (row * INPUT1_SIZE_X + column) * (INPUT1_SIZE_F / 4) + number;
    const float4 anchor = LISTED_ANCHOR(INPUT4, anchors, at);
#endif
    const float4 picture = PICTURE(INPUT2, pictures, image);
    const float4 box = FUNC(box_of)(anchor, OFFSETS(INPUT1, offsets, image, number, row, column), picture);
    const float score = INPUT0_LOAD(scores, INPUT0_GET_INDEX(image, rank));
    OUTPUT1_STORE(kept, OUTPUT1_GET_INDEX(image, 0, rank),
                  DROPS_SMALL && !FUNC(is_large)(box, picture) ? -INFINITY : score);
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(image, rank, 0), box.x);
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(image, rank, 1), box.y);
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(image, rank, 2), box.z - (EXTENDED ? 0.0f : EXTENT));
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(image, rank, 3), box.w - (EXTENDED ? 0.0f : EXTENT));
}
