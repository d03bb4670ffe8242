// From an element of the resized axis to its place in the data. COORDINATES: 0 half_pixel, 1 pytorch_half_pixel,
// 2 asymmetric, 3 tf_half_pixel_for_nn, 4 align_corners. NEAREST: 0 round_prefer_floor, 1 round_prefer_ceil,
// 2 floor, 3 ceil, 4 simple.

// a / b as IEEE 754 rounds it: a device's own division may be off by 2.5 units in the last place (OpenCL C 1.2,
// 7.4), which moves a place off the middle between two elements. One step of Newton's method with exact residual.
float FUNC(quotient)(float a, float b) {
    const float guess = a / b;
    return fma(fma(-guess, b, a), 1 / b, guess);
}

// The place in data of `length` elements to which element x of `resized` belongs.
float FUNC(place_of)(index_t x, float scale, index_t resized, index_t length) {
    if (scale == 1.0f || resized == length) return x;
#if COORDINATES == 0
    return FUNC(quotient)(x + 0.5f, scale) - 0.5f;
#elif COORDINATES == 1
    return resized > 1 ? FUNC(quotient)(x + 0.5f, scale) - 0.5f : 0;
#elif COORDINATES == 2
    return FUNC(quotient)(x, scale);
#elif COORDINATES == 3
    return FUNC(quotient)(x + 0.5f, scale);
#else
    return resized == 1 ? 0 : FUNC(quotient)((float)x * (length - 1), resized - 1);
#endif
}

index_t FUNC(nearest_to)(float place, float scale) {
#if NEAREST == 0
    return place == trunc(place) + 0.5f ? (index_t)floor(place) : (index_t)round(place);
#elif NEAREST == 1
    return (index_t)round(place);
#elif NEAREST == 2
    return (index_t)floor(place);
#elif NEAREST == 3
    return (index_t)ceil(place);
#else
    return scale < 1 ? (index_t)ceil(place) : (index_t)place;
#endif
}
