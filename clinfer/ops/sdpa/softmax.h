// The softmax of attention on CPUs, taken block by block along the keys: per row the highest score so far, and the sum
// of exp(score - highest). Where KEYS is defined, a block's scores are an array of KEYS = 32 floats.
// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
#include "shared/weight.h"

float FUNC(highest_of)(float16 v) {
    const float8 v8 = max(v.lo, v.hi);
    const float4 v4 = max(v8.lo, v8.hi);
    return max(max(v4.x, v4.y), max(v4.z, v4.w));
}

float FUNC(sum_of)(float16 v) {
    const float8 v8 = v.lo + v.hi;
    const float4 v4 = v8.lo + v8.hi;
    return (v4.x + v4.y) + (v4.z + v4.w);
}

// e^x of numbers of 0 or less, within 2e-7 of it; 0 where that is below 1e-37. e^x = 2^n e^(x - n ln 2), where adding
// 1.5 * 2^23 rounds x / ln 2 to the whole number n, and a polynomial fitted for the least relative error up to half of
// ln 2.
float16 FUNC(exp_of)(const float16 x) {
    const float16 shifted = mad(x, (float16)1.44269504f, (float16)12582912.0f);
    const float16 whole = shifted - 12582912.0f;
    const float16 rest = mad(whole, (float16)2.12194440e-4f, mad(whole, (float16)-0.693359375f, x));
    float16 power = mad(rest, (float16)0.00831252057f, (float16)0.0418901592f);
    power = mad(power, rest, (float16)0.166671142f);
    power = mad(power, rest, (float16)0.499992311f);
    power = mad(power, rest, (float16)1.0f);
    power = mad(power, rest, (float16)1.0f);
    const float16 scaled = power * as_float16((as_int16(shifted) << 23) + (127 << 23));
    return select(scaled, (float16)0.0f, x < -85.0f);
}

// Stores 16 columns of a row of results, or the first `count` of them.
void FUNC(store_columns)(global OUTPUT0_TYPE* output, const int to, const float16 columns, const int count) {
    if (count >= 16) {
        OUTPUT0_STORE16(output, to, columns);
    } else {
        float last[16];
        vstore16(columns, 0, last);
        for (int i = 0; i < count; ++i) OUTPUT0_STORE(output, to + i, last[i]);
    }
}

#if WITH_MASK
// Applies the mask's elements from `index` on to the first `count` scores of a row.
void FUNC(mask_scores)(float* scores, const global INPUT3_TYPE* mask, const index_t index, const int count ARGS) {
    int k = 0;
#if !MASK_IS_BOOLEAN
    if (INPUT3_PITCH_3 == 1)
        for (; k + 16 <= count; k += 16)
            vstore16(vload16(0, scores + k) + INPUT3_LOAD16(mask, index + k), 0, scores + k);
#endif
    for (; k < count; ++k) {
        const index_t from = index + k * INPUT3_PITCH_3;
#if MASK_IS_BOOLEAN
        scores[k] = INPUT3_LOAD(mask, from) ? scores[k] : -INFINITY;
#else
        scores[k] += INPUT3_LOAD(mask, from);
#endif
    }
}
#endif

#ifdef KEYS
// Turns the first `seen` scores of a row into weights, the others into 0; returns the factor for what was summed with
// the weights of the blocks before.
float FUNC(weigh)(float* scores, const int seen, float* highest, float* sum) {
    for (int k = max(seen, 0); k < KEYS; ++k) scores[k] = -INFINITY;
    const float16 low = vload16(0, scores), high = vload16(1, scores);
    const float top = max(*highest, FUNC(highest_of)(max(low, high)));
    const float base = top == -INFINITY ? 0 : top;
    const float rescale = top == *highest ? 1.0f : exp(*highest - base);
    const float16 low_weights = WEIGHT(float16, low - base), high_weights = WEIGHT(float16, high - base);
    *highest = top;
    *sum = *sum * rescale + FUNC(sum_of)(low_weights + high_weights);
    vstore16(low_weights, 0, scores);
    vstore16(high_weights, 1, scores);
    return rescale;
}
#endif
