// Groups of GROUP input and as many output channels (1, 2, 4 or 8) in blocks of 16 channels: EACH_INPUT(DO) does
// DO(n, places) for each input channel n of a group, where LANES(pixel, places) gives the channels of a pixel the
// n-th one of their groups.
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
