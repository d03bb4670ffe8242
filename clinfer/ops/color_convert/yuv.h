// A pixel from its brightness and colour (BT.601, limited range), and how it is stored.

// ROUNDED: the numbers of OpenVINO's conversion of u8, to the last bit, hence no fused multiply-add.
float3 FUNC(pixel)(float y, float u, float v) {
#pragma OPENCL FP_CONTRACT OFF
    const float bright = 1.164f * (y - 16);
    u -= 128;
    v -= 128;
    const float red = bright + 1.596f * v, green = bright - 0.391f * u - 0.813f * v, blue = bright + 2.018f * u;
    const float3 pixel = clamp((float3)(IS_BGR ? blue : red, green, IS_BGR ? red : blue), 0.0f, 255.0f);
    return ROUNDED ? rint(pixel) : pixel;
}

#define STORE_CHANNEL(value, n, y, x, c) { \
        int at[] = {n, y, x, c}; \
        OUTPUT0_COMPUTE result = value; \
        FUSED_OPS(result, at) \
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result); \
    }
#define STORE_PIXEL(pixel, n, y, x) \
    STORE_CHANNEL(pixel.s0, n, y, x, 0) \
    STORE_CHANNEL(pixel.s1, n, y, x, 1) \
    STORE_CHANNEL(pixel.s2, n, y, x, 2)
