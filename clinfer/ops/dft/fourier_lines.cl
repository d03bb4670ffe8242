// The discrete Fourier transform along one axis, by passes over whole lines (Stockham's algorithm: T. G. Stockham,
// "High-speed convolution and correlation", 1966): each pass splits off a factor of the length, odd ones first, and
// leaves the frequencies in order. So the first and the middle frequency of a real signal have no imaginary part: what
// they are made of is turned by none. Views with that axis last but for the real and imaginary parts, which are the
// last axis of complex tensors. One work-item transforms LANES lines at a time, each in a lane of vectors, and then
// those that lie as many groups of lines further as there are work-items. Its ARG_ROOM floats of scratch hold the roots
// of unity and two copies of its lines. ARG_LENGTH is the length of the signal: what the input lacks of it is 0.
// READS_REAL: the input is real. WRITES_REAL: the output is; the input holds the first half of the frequencies, the
// others are conjugate to them.
// Limits: rank up to MAX_RANK; computes in float.
#include "clinfer.cl"

#ifndef LANES
#define LANES 8
#define READS_REAL 0
#define WRITES_REAL 0
#define INVERSE 0
#define REAL_RANK 3
#define INPUT_AXIS_SIZE 16
#define INPUT_AXIS_PITCH 16
#define OUTPUT_AXIS_SIZE 16
#define OUTPUT_AXIS_PITCH 16
#define ARG_LENGTH 16
#define ARG_LINES 64
#define ARG_ROOM 4096
#endif

#if LANES == 1
#define NUMBERS float
#define GET(p, i) ((p)[i])
#define PUT(p, i, v) ((p)[i] = (v))
#else
#define NUMBERS CLINFER_PASTE(float, LANES)
#define GET(p, i) CLINFER_PASTE(vload, LANES)(i, p)
#define PUT(p, i, v) CLINFER_PASTE(vstore, LANES)(v, i, p)
#endif

// Of roots of unity there are as many as fill vectors.
#define ROOTS ((ARG_LENGTH + 7) / 8 * 8)

#define COMPLEX FUNC(complex)
typedef struct {
    NUMBERS re, im;
} COMPLEX;
#define ROOT FUNC(root)
typedef struct {
    float re, im;
} ROOT;

INLINED COMPLEX FUNC(plus)(const COMPLEX a, const COMPLEX b) {
    return (COMPLEX){a.re + b.re, a.im + b.im};
}

INLINED COMPLEX FUNC(minus)(const COMPLEX a, const COMPLEX b) {
    return (COMPLEX){a.re - b.re, a.im - b.im};
}

INLINED COMPLEX FUNC(times)(const COMPLEX a, const ROOT b) {
    return (COMPLEX){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

INLINED COMPLEX FUNC(get)(const global float* line, const int i) {
    return (COMPLEX){GET(line, 2 * i), GET(line, 2 * i + 1)};
}

INLINED void FUNC(put)(global float* line, const int i, const COMPLEX value) {
    PUT(line, 2 * i, value.re);
    PUT(line, 2 * i + 1, value.im);
}

INLINED ROOT FUNC(root_at)(const global float* roots, const int i ARGS) {
    return (ROOT){roots[i], roots[ROOTS + i]};
}

// The roots of unity, from the nearest quarter of a turn on: what is left of the angle is an eighth at most, for which
// Taylor's series of few terms are exact.
INLINED void FUNC(find_roots)(global float* roots ARGS) {
    for (int first = 0; first < ARG_LENGTH; first += 8) {
        const int8 i = first + (int8)(0, 1, 2, 3, 4, 5, 6, 7);
        const int8 quarter = convert_int8_rte(4 * convert_float8(i) / ARG_LENGTH);
        const float8 x = convert_float8(4 * i - quarter * (int)ARG_LENGTH) * (M_PI_2_F / ARG_LENGTH), y = x * x;
        const float8 c = 1 - y * (1 / 2.0f - y * (1 / 24.0f - y * (1 / 720.0f - y * (1 / 40320.0f - y / 3628800))));
        const float8 s = x * (1 - y * (1 / 6.0f - y * (1 / 120.0f - y * (1 / 5040.0f - y / 362880))));
        const int8 is_odd = (quarter & 1) != 0, is_second_half = (quarter & 2) != 0;
        const float8 cosine = select(c, s, is_odd), sine = select(s, c, is_odd);
        vstore8(select(cosine, -cosine, is_odd ^ is_second_half), 0, roots + first);
        vstore8(select(sine, -sine, INVERSE ? is_second_half : ~is_second_half), 0, roots + ROOTS + first);
    }
}

// A pass: `length` elements that are left of each of `step` interleaved lines become RADIX times as many lines.
#define EACH_BUTTERFLY(RADIX) \
    const int part = length / (RADIX); \
    for (int p = 0; p < part; ++p) \
        for (int q = 0; q < step; ++q)
#define TAKE(j) FUNC(get)(from, q + step * (p + part * (j)))
#define GIVE(RADIX, k, value) FUNC(put)(to, q + step * ((RADIX) * p + (k)), value)
#define TURNED(k, value) FUNC(times)(value, FUNC(root_at)(roots, (k) * p * step PASS_ARGS))

INLINED void FUNC(pass_of_2)(const global float* from, global float* to, const global float* roots, const int length,
                             const int step ARGS) {
    EACH_BUTTERFLY(2) {
        const COMPLEX a = TAKE(0), b = TAKE(1);
        GIVE(2, 0, FUNC(plus)(a, b));
        GIVE(2, 1, TURNED(1, FUNC(minus)(a, b)));
    }
}

INLINED void FUNC(pass_of_4)(const global float* from, global float* to, const global float* roots, const int length,
                             const int step ARGS) {
    EACH_BUTTERFLY(4) {
        const COMPLEX a = TAKE(0), b = TAKE(1), c = TAKE(2), d = TAKE(3);
        const COMPLEX even = FUNC(plus)(a, c), odd = FUNC(minus)(a, c), sum = FUNC(plus)(b, d);
        const COMPLEX apart = FUNC(minus)(b, d);
        const COMPLEX quarter = INVERSE ? (COMPLEX){-apart.im, apart.re} : (COMPLEX){apart.im, -apart.re};
        GIVE(4, 0, FUNC(plus)(even, sum));
        GIVE(4, 1, TURNED(1, FUNC(plus)(odd, quarter)));
        GIVE(4, 2, TURNED(2, FUNC(minus)(even, sum)));
        GIVE(4, 3, TURNED(3, FUNC(minus)(odd, quarter)));
    }
}

// Of a small factor, all of whose elements are held in registers.
INLINED void FUNC(pass_of_few)(const int radix, const global float* from, global float* to, const global float* roots,
                               const int length, const int step ARGS) {
    ROOT few[8];
    for (int j = 0; j < radix; ++j) few[j] = FUNC(root_at)(roots, j * (ARG_LENGTH / radix) PASS_ARGS);
    EACH_BUTTERFLY(radix) {
        COMPLEX taken[8];
        #pragma unroll
        for (int j = 0; j < radix; ++j) taken[j] = TAKE(j);
        #pragma unroll
        for (int k = 0; k < radix; ++k) {
            COMPLEX sum = taken[0];
            #pragma unroll
            for (int j = 1; j < radix; ++j) sum = FUNC(plus)(sum, FUNC(times)(taken[j], few[j * k % radix]));
            GIVE(radix, k, TURNED(k, sum));
        }
    }
}

// Of any factor.
INLINED void FUNC(pass_of_any)(const int radix, const global float* from, global float* to, const global float* roots,
                               const int length, const int step ARGS) {
    const int turn = ARG_LENGTH / radix;
    EACH_BUTTERFLY(radix)
        for (int k = 0; k < radix; ++k) {
            COMPLEX sum = TAKE(0);
            for (int j = 1, at = k; j < radix; ++j) {
                sum = FUNC(plus)(sum, FUNC(times)(TAKE(j), FUNC(root_at)(roots, at * turn PASS_ARGS)));
                at += k;
                if (at >= radix) at -= radix;
            }
            GIVE(radix, k, TURNED(k, sum));
        }
}

INLINED int FUNC(factor_of)(const int length) {
    int odd = length;
    while (odd % 2 == 0) odd /= 2;
    if (odd == 1) return length % 4 == 0 ? 4 : 2;
    for (int factor = 3; factor * factor <= odd; factor += 2)
        if (odd % factor == 0) return factor;
    return odd;
}

// Transforms the lines at `from`; returns where they are then.
INLINED global float* FUNC(transform)(global float* from, global float* to, const global float* roots ARGS) {
    for (int length = ARG_LENGTH, step = 1; length > 1;) {
        const int radix = FUNC(factor_of)(length);
        if (radix == 4) FUNC(pass_of_4)(from, to, roots, length, step PASS_ARGS);
        else if (radix == 2) FUNC(pass_of_2)(from, to, roots, length, step PASS_ARGS);
        else if (radix == 3) FUNC(pass_of_few)(3, from, to, roots, length, step PASS_ARGS);
        else if (radix == 5) FUNC(pass_of_few)(5, from, to, roots, length, step PASS_ARGS);
        else FUNC(pass_of_any)(radix, from, to, roots, length, step PASS_ARGS);
        global float* other = from;
        from = to;
        to = other;
        length /= radix;
        step *= radix;
    }
    return from;
}

// Copies one line of the input to a lane of `lines`.
INLINED void FUNC(read_line)(global float* lines, const global INPUT0_TYPE* input, const index_t from ARGS) {
    const int count = min((int)INPUT_AXIS_SIZE, WRITES_REAL ? (int)ARG_LENGTH / 2 + 1 : (int)ARG_LENGTH);
    for (int i = 0; i < count; ++i) {
        const index_t at = from + (index_t)i * INPUT_AXIS_PITCH;
        lines[2 * i * LANES] = INPUT0_LOAD(input, at);
#if READS_REAL
        lines[(2 * i + 1) * LANES] = 0;
#elif WRITES_REAL
        // The sine that belongs to the first and to the middle frequency is 0.
        const bool alone = i == 0 || 2 * i == ARG_LENGTH;
        const float y = alone ? 0 : INPUT0_LOAD(input, at + INPUT0_PITCH_LAST);
        lines[(2 * i + 1) * LANES] = y;
        if (alone) continue;
        lines[2 * (ARG_LENGTH - i) * LANES] = lines[2 * i * LANES];
        lines[(2 * (ARG_LENGTH - i) + 1) * LANES] = -y;
#else
        lines[(2 * i + 1) * LANES] = INPUT0_LOAD(input, at + INPUT0_PITCH_LAST);
#endif
    }
    const int end = WRITES_REAL ? (int)ARG_LENGTH - max(count, 1) : (int)ARG_LENGTH - 1;
    for (int i = count; i <= end; ++i) lines[2 * i * LANES] = lines[(2 * i + 1) * LANES] = 0;
}

// Copies a lane of `lines` to one line of the output.
INLINED void FUNC(write_line)(global OUTPUT0_TYPE* output, const index_t to, const global float* lines ARGS) {
    const float share = INVERSE ? 1.0f / ARG_LENGTH : 1.0f;
    for (int i = 0; i < OUTPUT_AXIS_SIZE; ++i) {
        const index_t at = to + (index_t)i * OUTPUT_AXIS_PITCH;
        OUTPUT0_STORE(output, at, (OUTPUT0_COMPUTE)(lines[2 * i * LANES] * share));
#if !WRITES_REAL
        OUTPUT0_STORE(output, at + OUTPUT0_PITCH_LAST, (OUTPUT0_COMPUTE)(lines[(2 * i + 1) * LANES] * share));
#endif
    }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(fourier_lines)(const global INPUT0_TYPE* restrict input, global float* restrict scratch,
                      global OUTPUT0_TYPE* restrict output ARGS) {
    global float* roots = scratch + get_global_id(0) * (size_t)ARG_ROOM;
    global float* lines = roots + 2 * ROOTS;
    FUNC(find_roots)(roots PASS_ARGS);
    for (index_t group = get_global_id(0) * LANES; group < ARG_LINES; group += get_global_size(0) * LANES) {
        const int count = min((index_t)LANES, ARG_LINES - group);
        index_t to[LANES];
        for (int lane = 0; lane < count; ++lane) {
            // Of complex data, whose axes are one more than those of a real output, the real part.
            index_t at[MAX_RANK] = {0};
            OUTPUT0_UNRAVEL((group + lane) * OUTPUT_AXIS_SIZE * (WRITES_REAL ? 1 : 2), at);
            to[lane] = OUTPUT0_INDEX_OF(at);
            FUNC(read_line)(lines + lane, input, INPUT0_INDEX_OF(at) PASS_ARGS);
        }
        const global float* done = FUNC(transform)(lines, lines + 2 * ARG_LENGTH * LANES, roots PASS_ARGS);
        for (int lane = 0; lane < count; ++lane) FUNC(write_line)(output, to[lane], done + lane PASS_ARGS);
    }
}
