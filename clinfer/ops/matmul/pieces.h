// FUNC(unpack)(pairs, piece, scale, zero): the PIECE weights of 16 bytes as pairs of halves; of 4 bits element i goes
// with element i + 4 of each eight, else with the next.
// Compressed weights (IS_SIGNED: they may be negative) are put in the low bits of the half 1024 (of two numbers in a
// byte, the one in the high bits stays where it is and counts sixteenfold), less their zero point and 1024, times their
// scale, each step rounded to halves, which differences of so few bits need not be.
#define PAIRS (PIECE / 2)

#ifdef __NV_CL_C_VERSION
INLINED uint FUNC(pick_bytes)(const uint low, const uint high, const uint which) {
    uint picked;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(low), "r"(high), "r"(which));
    return picked;
}
INLINED uint FUNC(scaled)(const uint pair, const uint zeros, const uint scales) {
    uint result;
    asm("{.reg .b32 whole_;\nsub.rn.f16x2 whole_, %1, %2;\nmul.rn.f16x2 %0, whole_, %3;}"
        : "=r"(result) : "r"(pair), "r"(zeros), "r"(scales));
    return result;
}
// The same of numbers that stand four bits higher; zeros: less 64.
INLINED uint FUNC(scaled_high)(const uint pair, const uint zeros, const uint scales) {
    uint result;
    asm("{.reg .b32 whole_, part_;\nmov.b32 part_, 0x2C002C00;\nneg.f16x2 whole_, %2;\n"
        "fma.rn.f16x2 whole_, %1, part_, whole_;\nmul.rn.f16x2 %0, whole_, %3;}"
        : "=r"(result) : "r"(pair), "r"(zeros), "r"(scales));
    return result;
}
#else
INLINED uint FUNC(pick_bytes)(const uint low, const uint high, const uint which) { return low + high + which; }
INLINED uint FUNC(scaled)(const uint pair, const uint zeros, const uint scales) { return pair + zeros + scales; }
INLINED uint FUNC(scaled_high)(const uint pair, const uint zeros, const uint scales) { return pair - zeros + scales; }
#endif

INLINED void FUNC(unpack)(uint* pairs, const uint4 piece, const float scale, const float zero) {
    const uint words[4] = {piece.x, piece.y, piece.z, piece.w};
#if PIECE == 8
    for (int i = 0; i < 4; ++i) pairs[i] = words[i];
#else
    const float off = zero + (IS_SIGNED ? 1 << (128 / PIECE - 1) : 0);
    const uint scales = PACK_HALVES(scale, scale), zeros = PACK_HALVES(1024 + off, 1024 + off);
    const uint high_zeros = PACK_HALVES(64 + off, 64 + off);
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
#if PIECE == 16
        const uint word = words[i] ^ (IS_SIGNED ? 0x80808080 : 0);
        pairs[2 * i] = FUNC(scaled)(FUNC(pick_bytes)(word, 0x64646464, 0x4140), zeros, scales);
        pairs[2 * i + 1] = FUNC(scaled)(FUNC(pick_bytes)(word, 0x64646464, 0x4342), zeros, scales);
#else
        const uint word = words[i] ^ (IS_SIGNED ? 0x88888888 : 0);
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            const uint two = word >> 8 * j;
            pairs[4 * i + 2 * j] = FUNC(scaled)((two & 0x000F000F) | 0x64006400, zeros, scales);
            pairs[4 * i + 2 * j + 1] = FUNC(scaled_high)((two & 0x00F000F0) | 0x64006400, high_zeros, scales);
        }
#endif
    }
#endif
}
