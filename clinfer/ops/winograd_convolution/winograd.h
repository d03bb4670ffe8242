// Winograd's transforms (op.py) of tiles of TILE_OUTPUTS outputs along y (ALONG_Y), x (ALONG_X) or both: TILE_SIDE (4,
// 6 or 8) values of data, in the order of the points at which polynomials are evaluated: 0, POINT_A, -POINT_A, of more
// than 4 POINT_B, -POINT_B, of 8 POINT_C, -POINT_C, and infinity.
// TRANSFORM_DATA(values, step) and TRANSFORM_RESULT(values, step) do it along one axis with values that lie `step` from
// each other, in their place.
#ifndef TILE_OUTPUTS
#define TILE_OUTPUTS 4
#define TILE_SIDE 6
#define ALONG_Y 1
#define ALONG_X 1
#define POINT_A 0.75f
#define POINT_B 1.5f
#endif
#define SIDE_Y (ALONG_Y ? TILE_SIDE : 1)
#define SIDE_X (ALONG_X ? TILE_SIDE : 1)
#define OUTPUTS_Y (ALONG_Y ? TILE_OUTPUTS : 1)
#define OUTPUTS_X (ALONG_X ? TILE_OUTPUTS : 1)
#define TILE_TAPS (SIDE_Y * SIDE_X)

#define SQUARE(x) ((x) * (x))
#define A2 SQUARE(POINT_A)
#define B2 SQUARE(POINT_B)
#define C2 SQUARE(POINT_C)

// The values at a point and at the one that has its other sign, of their sums of even and of odd powers.
#define AT_BOTH(values, step, n, point, even, odd) do { \
        const float16 even_ = even, odd_ = odd; \
        (values)[(n) * (step)] = fma((float16)(point), odd_, even_); \
        (values)[((n) + 1) * (step)] = fma((float16)(-(point)), odd_, even_); \
    } while (0)

#if TILE_SIDE == 4
#define DECLARE_DATA(v, s) const float16 d0 = (v)[0], d1 = (v)[s], d2 = (v)[2 * (s)], d3 = (v)[3 * (s)]
#define AT_POINTS(v, s) AT_BOTH(v, s, 1, POINT_A, d2, d1)
#define AT_ENDS(v, s) ((v)[0] = fma(-A2, d0, d2), (v)[3 * (s)] = fma(-A2, d1, d3))
#elif TILE_SIDE == 6
#define DECLARE_DATA(v, s) \
    const float16 d0 = (v)[0], d1 = (v)[s], d2 = (v)[2 * (s)], d3 = (v)[3 * (s)], d4 = (v)[4 * (s)], d5 = (v)[5 * (s)]
#define AT_POINTS(v, s) do { \
        AT_BOTH(v, s, 1, POINT_A, fma(-B2, d2, d4), fma(-B2, d1, d3)); \
        AT_BOTH(v, s, 3, POINT_B, fma(-A2, d2, d4), fma(-A2, d1, d3)); \
    } while (0)
#define AT_END(first, second, third) fma(A2 * B2, first, fma(-(A2 + B2), second, third))
#define AT_ENDS(v, s) ((v)[0] = AT_END(d0, d2, d4), (v)[5 * (s)] = AT_END(d1, d3, d5))
#else
#define DECLARE_DATA(v, s) \
    const float16 d0 = (v)[0], d1 = (v)[s], d2 = (v)[2 * (s)], d3 = (v)[3 * (s)], d4 = (v)[4 * (s)], \
        d5 = (v)[5 * (s)], d6 = (v)[6 * (s)], d7 = (v)[7 * (s)]
#define OF_THREE(p2, q2, first, second, third) fma((p2) * (q2), first, fma(-((p2) + (q2)), second, third))
#define AT_POINTS(v, s) do { \
        AT_BOTH(v, s, 1, POINT_A, OF_THREE(B2, C2, d2, d4, d6), OF_THREE(B2, C2, d1, d3, d5)); \
        AT_BOTH(v, s, 3, POINT_B, OF_THREE(A2, C2, d2, d4, d6), OF_THREE(A2, C2, d1, d3, d5)); \
        AT_BOTH(v, s, 5, POINT_C, OF_THREE(A2, B2, d2, d4, d6), OF_THREE(A2, B2, d1, d3, d5)); \
    } while (0)
#define AT_END(first, second, third, fourth) \
    fma(-A2 * B2 * C2, first, fma(A2 * B2 + A2 * C2 + B2 * C2, second, fma(-(A2 + B2 + C2), third, fourth)))
#define AT_ENDS(v, s) ((v)[0] = AT_END(d0, d2, d4, d6), (v)[7 * (s)] = AT_END(d1, d3, d5, d7))
#endif

#define TRANSFORM_DATA(values, step) do { \
        DECLARE_DATA(values, step); \
        AT_POINTS(values, step); \
        AT_ENDS(values, step); \
    } while (0)

// OF_POINTS(kind, a, b, c): of the sums (even) or differences (odd) of what is at a point and at the one that has its
// other sign, these multiples, added.
#if TILE_SIDE == 4
#define DECLARE_SUMS(v, s) const float16 even_a = (v)[s] + (v)[2 * (s)], odd_a = (v)[s] - (v)[2 * (s)]
#define OF_POINTS(kind, a, b, c) ((a) * kind##_a)
#elif TILE_SIDE == 6
#define DECLARE_SUMS(v, s) \
    const float16 even_a = (v)[s] + (v)[2 * (s)], odd_a = (v)[s] - (v)[2 * (s)]; \
    const float16 even_b = (v)[3 * (s)] + (v)[4 * (s)], odd_b = (v)[3 * (s)] - (v)[4 * (s)]
#define OF_POINTS(kind, a, b, c) fma(b, kind##_b, (a) * kind##_a)
#else
#define DECLARE_SUMS(v, s) \
    const float16 even_a = (v)[s] + (v)[2 * (s)], odd_a = (v)[s] - (v)[2 * (s)]; \
    const float16 even_b = (v)[3 * (s)] + (v)[4 * (s)], odd_b = (v)[3 * (s)] - (v)[4 * (s)]; \
    const float16 even_c = (v)[5 * (s)] + (v)[6 * (s)], odd_c = (v)[5 * (s)] - (v)[6 * (s)]
#define OF_POINTS(kind, a, b, c) fma(c, kind##_c, fma(b, kind##_b, (a) * kind##_a))
#endif

#define TRANSFORM_RESULT(values, step) do { \
        const float16 last_ = (values)[(TILE_SIDE - 1) * (step)]; \
        DECLARE_SUMS(values, step); \
        (values)[0] += OF_POINTS(even, 1.0f, 1.0f, 1.0f); \
        (values)[step] = OF_POINTS(odd, POINT_A, POINT_B, POINT_C); \
        if (TILE_OUTPUTS > 2) (values)[2 * (step)] = OF_POINTS(even, A2, B2, C2); \
        if (TILE_OUTPUTS > 3) (values)[3 * (step)] = OF_POINTS(odd, POINT_A * A2, POINT_B * B2, POINT_C * C2); \
        if (TILE_OUTPUTS > 4) (values)[4 * (step)] = OF_POINTS(even, A2 * A2, B2 * B2, C2 * C2); \
        (values)[(TILE_OUTPUTS - 1) * (step)] += last_; \
    } while (0)
