// Doubles every element of a dense tensor, or does to it what a test wants instead (RESULT).
#include "clinfer.cl"

#ifndef RESULT
#define RESULT (2.0f * value)
#endif

KERNEL(doubled)(const global float* restrict input, global float* restrict output ARGS) {
    const int i = (int)get_global_id(0);
    const float value = input[i];
    output[i] = RESULT;
}
