// Resizes a tensor; any layout, rank but 0, mode and set of axes. One work-item computes one element as the
// weighted sum over the taps of every resized axis (AXES lists them); the last work-group is not full.
// MODE: 0 nearest, 1 linear_onnx, 2 linear, 3 cubic, 4 bilinear_pillow, 5 bicubic_pillow.
// Of whole numbers Pillow's methods make whole numbers along the last axis before they resize the others.
// LENGTHS are the padded sizes of the data's axes, BEGINS the pads before them, SCALES the bits of floats.
#include "clinfer.cl"

#ifndef MODE
#define MODE 1
#define COORDINATES 0
#define NEAREST 0
#define ANTIALIAS 0
#define CUBE_COEFF -0.75f
#define AXES {2, 3}
#define AXIS_COUNT 2
#define LENGTHS {16, 16, 16, 16}
#define BEGINS {0, 0, 0, 0}
#define SCALES {0, 0, 0, 0}
#define INPUT_SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3}
#define OUTPUT_SIZES {OUTPUT0_SIZE_0, OUTPUT0_SIZE_1, OUTPUT0_SIZE_2, OUTPUT0_SIZE_3}
#endif

#include "coordinates.h"

float FUNC(cubic)(float distance) {
    const float a = CUBE_COEFF, d = fabs(distance);
    if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

float FUNC(triangle)(float distance) {
    return fmax(0.0f, 1 - fabs(distance));
}

// The first tap of element x and how many there are; taps may lie outside the data. `narrow`: what distances are
// multiplied with.
index_t FUNC(first_tap)(index_t x, float scale, float narrow, index_t resized, index_t length, index_t* count) {
#if MODE >= 4
    const float step = FUNC(quotient)(length, resized), reach = (MODE == 4 ? 1.0f : 2.0f) * fmax(step, 1.0f);
    const float centre = (x + 0.5f) * step;
    const index_t first = max((index_t)(centre - reach + 0.5f), (index_t)0);
    *count = min((index_t)(centre + reach + 0.5f), length) - first;
    return first;
#else
    const float place = FUNC(place_of)(x, scale, resized, length);
#if MODE == 0
    *count = 1;
    return clamp(FUNC(nearest_to)(place, scale), (index_t)0, length - 1);
#elif MODE == 1
    *count = 2;
    return (index_t)clamp(place, 0.0f, (float)(length - 1));
#elif MODE == 2
    const index_t reach = scale > 1 ? 2 : (index_t)ceil(2 / narrow);
    *count = 2 * reach + 1;
    return (index_t)round(place) - reach;
#else
    *count = 4;
    return (index_t)floor(place) - 1;
#endif
#endif
}

float FUNC(weight_of)(index_t tap, index_t x, float scale, float narrow, index_t resized, index_t length) {
#if MODE >= 4
    const float step = FUNC(quotient)(length, resized), centre = (x + 0.5f) * step;
    const float distance = (tap - centre + 0.5f) / fmax(step, 1.0f);
    return MODE == 4 ? FUNC(triangle)(distance) : FUNC(cubic)(distance);
#else
    const float place = FUNC(place_of)(x, scale, resized, length);
#if MODE == 0
    return 1;
#elif MODE == 1
    return FUNC(triangle)(clamp(place, 0.0f, (float)(length - 1)) - tap);
#elif MODE == 2
    return tap < 0 || tap >= length ? 0 : FUNC(triangle)(narrow * (place - tap));
#else
    return FUNC(cubic)(place - tap);
#endif
#endif
}

#if MODE && !OUTPUT0_IS_FLOAT
// The nearest whole number that the type holds, as filters leave the range of their data; of two the even one, or the
// larger one where Pillow decides.
OUTPUT0_COMPUTE FUNC(whole)(float total, float weights) {
    const float mean = weights == 0 ? 0 : QUOTIENT(total, weights);
    return CLINFER_CAT(CLINFER_CAT(convert, OUTPUT0_TYPE), sat)(MODE >= 4 ? floor(mean + 0.5f) : rint(mean));
}
#endif

KERNEL(interpolate_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int axes[] = AXES, scale_bits[] = SCALES;
    const index_t lengths[] = LENGTHS, begins[] = BEGINS;
    const index_t input_sizes[] = INPUT_SIZES, output_sizes[] = OUTPUT_SIZES;
    const index_t element = get_global_id(0);
    if (element >= OUTPUT0_COUNT) return;
    index_t at[MAX_RANK], from[MAX_RANK], first[MAX_RANK], count[MAX_RANK], step[MAX_RANK];
    OUTPUT0_UNRAVEL(element, at);
    for (int a = 0; a < OUTPUT0_RANK; ++a) from[a] = at[a];
    index_t taps = 1;
    // Filters are as wide as elements of the output, along all axes where there are fewer of them along one.
    int filters = 0;
    for (int n = 0; n < AXIS_COUNT; ++n) filters |= ANTIALIAS && as_float(scale_bits[axes[n]]) < 1;
    for (int n = 0; n < AXIS_COUNT; ++n) {
        const int a = axes[n];
        const float scale = as_float(scale_bits[a]);
        first[n] = FUNC(first_tap)(at[a], scale, filters ? scale : 1, output_sizes[a], lengths[a], &count[n]);
        step[n] = 0;
        taps *= count[n];
    }
#if MODE == 0
    INPUT0_COMPUTE total = 0;
#else
    float total = 0, weights = 0;
#endif
#if MODE >= 4 && !OUTPUT0_IS_FLOAT
    float column_total = 0, column_weights = 0;
#endif
    for (index_t tap = 0; tap < taps; ++tap) {
        float weight = 1;
        int is_inside = 1;
        for (int n = 0; n < AXIS_COUNT; ++n) {
            const int a = axes[n];
            const index_t place = first[n] + step[n];
            const float scale = as_float(scale_bits[a]);
            weight *= FUNC(weight_of)(place, at[a], scale, filters ? scale : 1, output_sizes[a], lengths[a]);
            from[a] = clamp(place, (index_t)0, lengths[a] - 1) - begins[a];
            is_inside &= from[a] >= 0 && from[a] < input_sizes[a];
        }
#if MODE == 0
        if (is_inside) total = INPUT0_LOAD(input, INPUT0_INDEX_OF(from));
#else
        weights += weight;
        if (is_inside && weight != 0) total += weight * (float)INPUT0_LOAD(input, INPUT0_INDEX_OF(from));
#if MODE >= 4 && !OUTPUT0_IS_FLOAT
        if (step[AXIS_COUNT - 1] == count[AXIS_COUNT - 1] - 1) {
            column_total += weights * FUNC(whole)(total, weights);
            column_weights += weights;
            total = weights = 0;
        }
#endif
#endif
        for (int n = AXIS_COUNT - 1; n >= 0; --n) {
            if (++step[n] < count[n]) break;
            step[n] = 0;
        }
    }
#if MODE == 0
    OUTPUT0_COMPUTE result = total;
#elif OUTPUT0_IS_FLOAT
    OUTPUT0_COMPUTE result = weights == 0 ? 0 : total / weights;
#elif MODE >= 4
    OUTPUT0_COMPUTE result = FUNC(whole)(column_total, column_weights);
#else
    OUTPUT0_COMPUTE result = FUNC(whole)(total, weights);
#endif
    FUSED_OPS(result, at)
    OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result);
}
