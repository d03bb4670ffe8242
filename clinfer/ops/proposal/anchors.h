// Boxes from anchors at the places of a map, see Decoding in op.py.

#ifndef ANCHORS
#define ANCHORS {{0.0f, 0.0f, 15.0f, 15.0f}}
#define HAS_ANCHORS 1
#define ANCHOR_COUNT 1
#define EXTENT 1.0f
#define LEAST 4.0f
#define STRIDE 16
#define TURNED 0
#define POSITION_SCALE 1.0f
#define SIZE_SCALE 1.0f
#define LONGEST 3e38f
#define CLIPS_ANCHORS 0
#define CLIPS_BOXES 1
#define ENDS_EARLY 0
#define SCALES_LEAST 1
#endif

// Where a picture's data stand.
#define PICTURE_AT(T, picture) (T##_OFFSET + (T##_RANK > 1 ? (picture) * T##_PITCH_0 : 0))

// (height, width, least height of a box, least width): of the first two TURNED says which is which.
#define PICTURE(T, data, picture) FUNC(picture_of)( \
    T##_LOAD(data, PICTURE_AT(T, picture)), T##_LOAD(data, PICTURE_AT(T, picture) + T##_PITCH_LAST), \
    SCALE_AT(T, data, picture, min((int)T##_SIZE_LAST - 1, 2)), SCALE_AT(T, data, picture, (int)T##_SIZE_LAST - 1))
#define SCALE_AT(T, data, picture, i) \
    (T##_SIZE_LAST > 2 ? (float)T##_LOAD(data, PICTURE_AT(T, picture) + (i) * T##_PITCH_LAST) : 1.0f)

float4 FUNC(picture_of)(float first, float second, float scale_y, float scale_x) {
    const float2 least = SCALES_LEAST ? (float2)(scale_y, scale_x) * LEAST : (float2)LEAST;
    return (float4)(TURNED ? second : first, TURNED ? first : second, least.x, least.y);
}

constant float FUNC(anchors)[ANCHOR_COUNT][4] = ANCHORS;

// An anchor of those that stand at each place of a map.
float4 FUNC(anchor_at)(int number, int row, int column) {
    const float x = (TURNED ? row : column) * STRIDE, y = (TURNED ? column : row) * STRIDE;
    return vload4(0, FUNC(anchors)[number]) + (float4)(x, y, x, y);
}

// A box as long as it is meant to be, its last corner EXTENT further than that.
float4 FUNC(box_of)(float4 anchor, float4 offset, float4 picture) {
    const float2 end = picture.yx;
    if (CLIPS_ANCHORS) anchor = fmax(fmin(anchor, (float4)(end, end)), 0.0f);
    const float2 sides = anchor.zw - anchor.xy + EXTENT;
    const float2 centre = anchor.xy + 0.5f * sides + offset.xy / POSITION_SCALE * sides;
    const float2 half_sides = 0.5f * exp(fmin(offset.zw / SIZE_SCALE, LONGEST)) * sides;
    float4 box = (float4)(centre - half_sides, centre + half_sides - (ENDS_EARLY ? EXTENT : 0.0f));
    if (CLIPS_BOXES) box = fmax(fmin(box, (float4)(end, end) - EXTENT), 0.0f);
    return (float4)(box.xy, box.zw + EXTENT);
}

bool FUNC(is_large)(float4 box, float4 picture) {
    return picture.w <= box.z - box.x && picture.z <= box.w - box.y;
}

// The anchor of a list [h * w * a, 4] that stands at a place of a map.
#define LISTED_ANCHOR(T, anchors, at) (float4)( \
    T##_LOAD(anchors, T##_GET_INDEX(at, 0)), T##_LOAD(anchors, T##_GET_INDEX(at, 1)), \
    T##_LOAD(anchors, T##_GET_INDEX(at, 2)), T##_LOAD(anchors, T##_GET_INDEX(at, 3)))

// The offsets of an anchor.
#define OFFSETS(T, offsets, picture, number, row, column) (float4)( \
    T##_LOAD(offsets, T##_GET_INDEX(picture, (number) * 4, row, column)), \
    T##_LOAD(offsets, T##_GET_INDEX(picture, (number) * 4 + 1, row, column)), \
    T##_LOAD(offsets, T##_GET_INDEX(picture, (number) * 4 + 2, row, column)), \
    T##_LOAD(offsets, T##_GET_INDEX(picture, (number) * 4 + 3, row, column)))
