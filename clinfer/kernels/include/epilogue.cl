// Fused operations: element-wise operations on the result of a kernel, just before it is stored.
//   FUSED_OPS(result, at)            replaces the scalar `result`, which is stored at coordinates `at`
//   FUSED_OPS16(result, at, axis)    the same for 16 consecutive elements along an axis (a digit, or LAST) of the
//                                    output, from `at` on; 4: likewise
// `result` is a variable of the output's arithmetic type, `at` an array of coordinates in the axes of OUTPUT0.
// The jitter defines EPILOGUE(T, result, FETCH, at), the operations as statements in which FETCH(n, at) reads the
// n-th operand; HAS_EPILOGUE; FUSED_EACH(DO, x), which is DO(0, x) DO(1, x) ...; and FUSED<n>_MOVES_<axis>, 0 where an
// operand is stretched, an expression where the shape decides that.

#define FUSED_FETCH(n, at) FUSED##n##_LOAD(fused##n, FUSED##n##_INDEX_OF(at))
#define FUSED_FETCH_VECTOR_(n, at, axis, width) (FUSED##n##_MOVES_##axis \
    ? FUSED##n##_LOAD##width(fused##n, FUSED##n##_INDEX_OF(at)) : (FUSED##n##_COMPUTE##width)(FUSED_FETCH(n, at)))
#define FUSED_FETCH16_1(n, at) FUSED_FETCH_VECTOR_(n, at, 1, 16)
#define FUSED_FETCH16_LAST(n, at) FUSED_FETCH_VECTOR_(n, at, LAST, 16)
#define FUSED_FETCH4_1(n, at) FUSED_FETCH_VECTOR_(n, at, 1, 4)
#define FUSED_FETCH4_LAST(n, at) FUSED_FETCH_VECTOR_(n, at, LAST, 4)

// For kernels that go along the last axis, where what fused operations read has pitch 1 or 0: FUSED_ROW_START(INDEX)
// first, where INDEX(T) is the place in T at which the row starts, then FUSED_ROW_OPS(result, i), or FUSED_ROW_OPS16 and
// 4 for the vector from element i on.
#define FUSED_ROW_START_(n, INDEX) const index_t fused_at##n = INDEX(FUSED##n);
#define FUSED_ROW_START(INDEX) FUSED_EACH(FUSED_ROW_START_, INDEX)
#define FUSED_ROW_FETCH(n, i) FUSED##n##_LOAD(fused##n, fused_at##n + (i) * FUSED##n##_PITCH_LAST)
#define FUSED_ROW_FETCH_VECTOR_(n, i, width) (FUSED##n##_PITCH_LAST \
    ? FUSED##n##_LOAD##width(fused##n, fused_at##n + (i)) \
    : (FUSED##n##_COMPUTE##width)(FUSED##n##_LOAD(fused##n, fused_at##n)))
#define FUSED_ROW_FETCH16(n, i) FUSED_ROW_FETCH_VECTOR_(n, i, 16)
#define FUSED_ROW_FETCH4(n, i) FUSED_ROW_FETCH_VECTOR_(n, i, 4)
#define FUSED_ROW_OPS(result, i) EPILOGUE(OUTPUT0_COMPUTE, result, FUSED_ROW_FETCH, i)
#define FUSED_ROW_OPS16(result, i) EPILOGUE(OUTPUT0_COMPUTE16, result, FUSED_ROW_FETCH16, i)
#define FUSED_ROW_OPS4(result, i) EPILOGUE(OUTPUT0_COMPUTE4, result, FUSED_ROW_FETCH4, i)

#define FUSED_OPS(result, at) EPILOGUE(OUTPUT0_COMPUTE, result, FUSED_FETCH, at)
#define FUSED_OPS16(result, at, axis) EPILOGUE(OUTPUT0_COMPUTE16, result, FUSED_FETCH16_##axis, at)
#define FUSED_OPS4(result, at, axis) EPILOGUE(OUTPUT0_COMPUTE4, result, FUSED_FETCH4_##axis, at)
