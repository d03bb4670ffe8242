// Writes start + i * step; one work-item writes one element of a vector of any type.
// Start and step come as two words each: a float in the low one, or a double or long in both.
#include "clinfer.cl"

#ifndef ARG_START_LOW
#define ARG_START_LOW 0
#define ARG_START_HIGH 0
#define ARG_STEP_LOW 0
#define ARG_STEP_HIGH 0
#endif

#define LONG(low, high) (long)(((ulong)(uint)(high) << 32) | (uint)(low))

#ifdef OUTPUT0_IS_F64
#define NUMBER(low, high) as_double(LONG(low, high))
#elif OUTPUT0_IS_FLOAT
#define NUMBER(low, high) as_float((int)(low))
#else
#define NUMBER(low, high) LONG(low, high)
#endif

KERNEL(range_ref)(global OUTPUT0_TYPE* restrict output ARGS) {
    const index_t item = get_global_id(0);
    if (item >= OUTPUT0_COUNT) return;
    const OUTPUT0_COMPUTE value = NUMBER(ARG_START_LOW, ARG_START_HIGH) + item * NUMBER(ARG_STEP_LOW, ARG_STEP_HIGH);
    OUTPUT0_STORE(output, OUTPUT0_OFFSET + item * OUTPUT0_PITCH_0, value);
}
