// FUNC(unpack)(pairs, piece, scales, zero): the PIECE weights of 16 bytes as pairs of halves; of 4 bits element i goes
// with element i + 4 of each eight, else with the next. `scales`: their scale, twice.
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

INLINED void FUNC(unpack)(uint* pairs, const uint4 piece, const uint scales, const float zero) {
    const uint words[4] = {piece.x, piece.y, piece.z, piece.w};
#if PIECE == 8
    for (int i = 0; i < 4; ++i) pairs[i] = words[i];
#else
    const float off = zero + (IS_SIGNED ? 1 << (128 / PIECE - 1) : 0);
    const uint zeros = PACK_HALVES(1024 + off, 1024 + off), high_zeros = PACK_HALVES(64 + off, 64 + off);
#if PIECE == 32
    // Exponents, and the highest bits of signed numbers, which are flipped.
    const uint low = IS_SIGNED ? 0x64086408 : 0x64006400, high = IS_SIGNED ? 0x64806480 : 0x64006400;
#endif
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
#if PIECE == 16
        const uint word = words[i] ^ (IS_SIGNED ? 0x80808080 : 0);
        pairs[2 * i] = FUNC(scaled)(FUNC(pick_bytes)(word, 0x64646464, 0x4140), zeros, scales);
        pairs[2 * i + 1] = FUNC(scaled)(FUNC(pick_bytes)(word, 0x64646464, 0x4342), zeros, scales);
#else
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            const uint two = words[i] >> 8 * j;
            pairs[4 * i + 2 * j] = FUNC(scaled)((two & 0x000F000F) ^ low, zeros, scales);
            pairs[4 * i + 2 * j + 1] = FUNC(scaled_high)((two & 0x00F000F0) ^ high, high_zeros, scales);
        }
#endif
    }
#endif
}
