// Converts vectors by way of THROUGH, over memory that input and output lay out alike.
// One work-item converts ARG_SPAN elements; what does not fill a vector is converted singly.
// Limits: no 4-bit types.
#include "clinfer.cl"

#ifndef THROUGH
#define THROUGH float
#define THROUGH4 float4
#define THROUGH16 float16
#define VECTOR 16
#define ARG_COUNT 16
#define ARG_SPAN 16
#endif

#if VECTOR == 16
#define LOAD_VECTOR INPUT0_LOAD16
#define STORE_VECTOR OUTPUT0_STORE16
#define THROUGH_VECTOR THROUGH16
#define OUTPUT_VECTOR OUTPUT0_COMPUTE16
#else
#define LOAD_VECTOR INPUT0_LOAD4
#define STORE_VECTOR OUTPUT0_STORE4
#define THROUGH_VECTOR THROUGH4
#define OUTPUT_VECTOR OUTPUT0_COMPUTE4
#endif

#ifdef OUTPUT0_IS_BOOLEAN
#define CONVERTED(value) (value != 0)
#define CONVERTED_VECTOR(value) CONVERT(OUTPUT_VECTOR)(value != 0)
#else
#define CONVERTED(value) ((OUTPUT0_COMPUTE)(THROUGH)(value))
#define CONVERTED_VECTOR(value) CONVERT(OUTPUT_VECTOR)(CONVERT(THROUGH_VECTOR)(value))
#endif
#define CONVERT(type) CLINFER_CAT(convert, type)

KERNEL(convert_vector)(const global INPUT0_TYPE* restrict input, global OUTPUT0_TYPE* restrict output ARGS) {
    int i = (int)get_global_id(0) * ARG_SPAN;
    const int end = min(i + ARG_SPAN, ARG_COUNT);
    for (; i + VECTOR <= end; i += VECTOR) {
        const OUTPUT_VECTOR result = CONVERTED_VECTOR(LOAD_VECTOR(input, i));
        STORE_VECTOR(output, i, result);
    }
    for (; i < end; ++i) OUTPUT0_STORE(output, i, CONVERTED(INPUT0_LOAD(input, i)));
}
