// The discrete Fourier transform along one axis, straight from its definition. Views with that axis last but for
// the real and imaginary parts, which are the last axis of complex tensors. One work-item sums up one element of
// the output. ARG_LENGTH is the length of the signal: what the input lacks of it is 0.
// Computes with NUMBER, float or double.
// READS_REAL: the input is real. WRITES_REAL: the output is; the input holds the first half of the frequencies,
// the others are conjugate to them.
// Limits: rank up to MAX_RANK.
#include "clinfer.cl"

#ifndef READS_REAL
#define NUMBER float
#define READS_REAL 0
#define WRITES_REAL 0
#define INVERSE 0
#define REAL_RANK 3
#define INPUT_AXIS_SIZE 16
#define INPUT_AXIS_PITCH 16
#define ARG_LENGTH 16
#define ARG_ITEMS 4096
#endif

KERNEL(fourier_ref)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    const int item = get_global_id(0);
    if (item >= ARG_ITEMS) return;
    int at[MAX_RANK];
#if WRITES_REAL
    OUTPUT0_UNRAVEL(item, at);
#else
    OUTPUT0_UNRAVEL(2 * item, at);
#endif
    const int to = OUTPUT0_INDEX_OF(at);
    const int place = at[REAL_RANK - 1];
    at[REAL_RANK - 1] = 0;
#if !READS_REAL
    at[REAL_RANK] = 0;
#endif
    const int from = INPUT0_INDEX_OF(at);
    const int half_length = ARG_LENGTH / 2;
    const int count = min(INPUT_AXIS_SIZE, WRITES_REAL ? half_length + 1 : ARG_LENGTH);
    NUMBER real = 0, imaginary = 0;
    for (int i = 0; i < count; ++i) {
        const int turn = (int)((long)i * place % ARG_LENGTH);
        const NUMBER angle = (NUMBER)(2L * turn) / ARG_LENGTH;
        const NUMBER cosine = cospi(angle), sine = INVERSE ? sinpi(angle) : -sinpi(angle);
        const NUMBER x = (NUMBER)INPUT0_LOAD(input, from + i * INPUT_AXIS_PITCH);
#if READS_REAL
        real += x * cosine;
        imaginary += x * sine;
#else
        const NUMBER y = (NUMBER)INPUT0_LOAD(input, from + i * INPUT_AXIS_PITCH + INPUT0_PITCH_LAST);
#if WRITES_REAL
        const bool alone = i == 0 || 2 * i == ARG_LENGTH;
        real += (alone ? 1 : 2) * (x * cosine - y * sine);
#else
        real += x * cosine - y * sine;
        imaginary += x * sine + y * cosine;
#endif
#endif
    }
    const NUMBER divisor = INVERSE ? ARG_LENGTH : 1;
    OUTPUT0_STORE(output, to, (OUTPUT0_COMPUTE)(real / divisor));
#if !WRITES_REAL
    OUTPUT0_STORE(output, to + OUTPUT0_PITCH_LAST, (OUTPUT0_COMPUTE)(imaginary / divisor));
#endif
}
