// Groups of GROUP input and as many output channels (1, 2, 4 or 8) in blocks of 16 channels: EACH_INPUT(DO) does
// DO(n, places) for each input channel n of a group, where LANES(pixel, places) gives the channels of a pixel the
// n-th one of their groups.
// ADD_INPUT and ADD_INPUT_INSIDE are such: they add, to the TILE_PIXELS pixels in `sum`, the products of the weights
// from `own` on with the pixels PIXEL_AT(i) of the row of data whose pixel 0 has the index `row`; INSIDE: with those
// that are there.
#define BLOCK 16

#if GROUP == 1
#define EACH_INPUT(DO) DO(0, 0123456789abcdef)
#elif GROUP == 2
#define EACH_INPUT(DO) DO(0, 0022446688aaccee) DO(1, 1133557799bbddff)
#elif GROUP == 4
#define EACH_INPUT(DO) \
    DO(0, 000044448888cccc) DO(1, 111155559999dddd) DO(2, 22226666aaaaeeee) DO(3, 33337777bbbbffff)
#else
#define EACH_INPUT(DO) \
    DO(0, 0000000088888888) DO(1, 1111111199999999) DO(2, 22222222aaaaaaaa) DO(3, 33333333bbbbbbbb) \
    DO(4, 44444444cccccccc) DO(5, 55555555dddddddd) DO(6, 66666666eeeeeeee) DO(7, 77777777ffffffff)
#endif
#define LANES(pixel, places) ((pixel).s##places)

#define ADD_INPUT(n, places) { \
        const float16 weight = convert_float16(INPUT1_LOAD16(weights, own + (n) * INPUT1_PITCH_2)); \
        _Pragma("unroll") \
        for (int i = 0; i < TILE_PIXELS; ++i) ADD_PIXEL(i, places) \
    }
#define ADD_INPUT_INSIDE(n, places) { \
        const float16 weight = convert_float16(INPUT1_LOAD16(weights, own + (n) * INPUT1_PITCH_2)); \
        _Pragma("unroll") \
        for (int i = 0; i < TILE_PIXELS; ++i) \
            if (IS_ON_AXIS(PIXEL_AT(i), INPUT0_SIZE_X)) ADD_PIXEL(i, places) \
    }
#define ADD_PIXEL(i, places) \
    sum[i] = fma(LANES(INPUT0_LOAD16(input, row + PIXEL_AT(i) * BLOCK), places), weight, sum[i]);
