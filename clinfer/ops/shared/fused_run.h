// FUSED_RUN(results, count, to) applies fused operations to `count` results in private memory and stores them side by
// side from output[to] on, in vectors. What fused operations read has pitch 1 or 0 there; FUSED_ROW_START comes before.
#define FUSED_RUN(results, count, to) \
    for (int i = 0; i + 16 <= (count); i += 16) { \
        OUTPUT0_COMPUTE16 result = vload16(0, (results) + i); \
        FUSED_ROW_OPS16(result, i) \
        OUTPUT0_STORE16(output, (to) + i, result); \
    } \
    for (int i = (count) / 16 * 16; i < (count); ++i) { \
        OUTPUT0_COMPUTE result = (results)[i]; \
        FUSED_ROW_OPS(result, i) \
        OUTPUT0_STORE(output, (to) + i, result); \
    }
