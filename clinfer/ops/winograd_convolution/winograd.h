// Winograd's transforms (op.py) of tiles of TILE_OUTPUTS x TILE_OUTPUTS (2 or 4) outputs: TILE_SIDE values of data, in
// the order of the points at which polynomials are evaluated: 0, POINT_A, -POINT_A, of tiles of 4 POINT_B, -POINT_B,
// and infinity.
// TRANSFORM_DATA(to, from, step) and TRANSFORM_RESULT(to, from, step) do it along one axis, to and from values that lie
// `step` from each other.
#ifndef TILE_OUTPUTS
#define TILE_OUTPUTS 4
#endif
#define TILE_SIDE (TILE_OUTPUTS + 2)
#define TILE_TAPS (TILE_SIDE * TILE_SIDE)

#if TILE_OUTPUTS == 2
#define TRANSFORM_DATA(to, from, step) \
    do { \
        const float16 d0_ = (from)[0], d1_ = (from)[step], d2_ = (from)[2 * (step)], d3_ = (from)[3 * (step)]; \
        (to)[0] = d2_ - d0_, (to)[step] = d2_ + d1_, (to)[2 * (step)] = d2_ - d1_, (to)[3 * (step)] = d3_ - d1_; \
    } while (0)
#define TRANSFORM_RESULT(to, from, step) \
    do { \
        const float16 m1_ = (from)[step], m2_ = (from)[2 * (step)]; \
        (to)[0] = (from)[0] + (m1_ + m2_); \
        (to)[step] = (m1_ - m2_) + (from)[3 * (step)]; \
    } while (0)
#else
#define POINT_A 0.75f
#define POINT_B 1.5f
#define POINT_A2 (POINT_A * POINT_A)
#define POINT_B2 (POINT_B * POINT_B)
#define TRANSFORM_DATA(to, from, step) \
    do { \
        const float16 d0_ = (from)[0], d1_ = (from)[step], d2_ = (from)[2 * (step)], d3_ = (from)[3 * (step)]; \
        const float16 d4_ = (from)[4 * (step)], d5_ = (from)[5 * (step)]; \
        const float16 even_a_ = fma(-POINT_B2, d2_, d4_), odd_a_ = fma(-POINT_B2, d1_, d3_); \
        const float16 even_b_ = fma(-POINT_A2, d2_, d4_), odd_b_ = fma(-POINT_A2, d1_, d3_); \
        (to)[0] = fma(POINT_A2 * POINT_B2, d0_, fma(-(POINT_A2 + POINT_B2), d2_, d4_)); \
        (to)[step] = fma(POINT_A, odd_a_, even_a_), (to)[2 * (step)] = fma(-POINT_A, odd_a_, even_a_); \
        (to)[3 * (step)] = fma(POINT_B, odd_b_, even_b_), (to)[4 * (step)] = fma(-POINT_B, odd_b_, even_b_); \
        (to)[5 * (step)] = fma(POINT_A2 * POINT_B2, d1_, fma(-(POINT_A2 + POINT_B2), d3_, d5_)); \
    } while (0)
#define TRANSFORM_RESULT(to, from, step) \
    do { \
        const float16 even_a_ = (from)[step] + (from)[2 * (step)], odd_a_ = (from)[step] - (from)[2 * (step)]; \
        const float16 even_b_ = (from)[3 * (step)] + (from)[4 * (step)]; \
        const float16 odd_b_ = (from)[3 * (step)] - (from)[4 * (step)]; \
        (to)[0] = (from)[0] + (even_a_ + even_b_); \
        (to)[step] = fma(POINT_B, odd_b_, POINT_A * odd_a_); \
        (to)[2 * (step)] = fma(POINT_B2, even_b_, POINT_A2 * even_a_); \
        (to)[3 * (step)] = fma(POINT_B * POINT_B2, odd_b_, fma(POINT_A * POINT_A2, odd_a_, (from)[5 * (step)])); \
    } while (0)
#endif
