// Copying contiguous elements of INPUT0 to OUTPUT0 as vectors of VEC (16 or 4, raw ones of 8 as well); `from`, `to` and
// `count` say which.
#include "shared/vectors.h"

#if HAS_EPILOGUE

// Copies them, or zeros where `inside` is 0, and applies fused operations, for which FUSED_ROW_START has been said.
#define FUSED_COPY(inside) \
    const int vectors_end = count / VEC * VEC; \
    for (int i = 0; i < vectors_end; i += VEC) { \
        VECTOR result = (inside) ? LOAD_VECTOR(from, i) : (VECTOR)0; \
        FUSED_VECTOR(result, i) \
        STORE_VECTOR(to, i, result); \
    } \
    for (int i = vectors_end; i < count; ++i) { \
        INPUT0_COMPUTE result = (inside) ? INPUT0_LOAD(from, i) : 0; \
        FUSED_ROW_OPS(result, i) \
        OUTPUT0_STORE(to, i, result); \
    }

#else

#if VEC == 16
#define COPY_VECTOR(i) WRITE16(READ16(from + (i)), to + (i))
#elif VEC == 8
#define COPY_VECTOR(i) WRITE8(READ8(from + (i)), to + (i))
#else
#define COPY_VECTOR(i) WRITE4(READ4(from + (i)), to + (i))
#endif

// Copies them, raw storage units. The last vector is moved back to end with them, so that short rests need no loop.
INLINED void FUNC(copy_row)(const global INPUT0_TYPE* restrict from, global OUTPUT0_TYPE* restrict to,
                            const int count) {
    if (count < VEC) {
        for (int i = 0; i < count; ++i) to[i] = from[i];
        return;
    }
    for (int i = 0; i + VEC <= count; i += VEC) COPY_VECTOR(i);
    if (count % VEC) COPY_VECTOR(count - VEC);
}

#endif
