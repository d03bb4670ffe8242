// Pixels from brightness and colour (BT.601, limited range). PIXELS: float, or a vector of them.

#ifndef PIXELS
#define PIXELS float
#endif

// The channels in the order of the output. IS_WHOLE: to the last bit what OpenVINO makes of u8, hence no fused
// multiply-add.
INLINED void FUNC(convert)(PIXELS y, PIXELS u, PIXELS v, PIXELS* first, PIXELS* green, PIXELS* third) {
#pragma OPENCL FP_CONTRACT OFF
    const PIXELS bright = 1.164f * (y - 16);
    u -= 128;
    v -= 128;
    PIXELS red = clamp(bright + 1.596f * v, 0.0f, 255.0f), blue = clamp(bright + 2.018f * u, 0.0f, 255.0f);
    *green = clamp(bright - 0.391f * u - 0.813f * v, 0.0f, 255.0f);
#if IS_WHOLE
    red = rint(red);
    blue = rint(blue);
    *green = rint(*green);
#endif
    *first = IS_BGR ? blue : red;
    *third = IS_BGR ? red : blue;
}
