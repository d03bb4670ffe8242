// Pixels of 16 channels each, as bytes.
#define BLOCK 16

// All bits for those of 16 channels of which `channels` exist.
INLINED uchar16 FUNC(existing)(const int channels) {
    const short16 numbers = (short16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return convert_uchar16((numbers < (short16)min(channels, BLOCK)) & (short16)255);
}
