// Copying contiguous elements of INPUT0 to OUTPUT0, which hold raw storage units, as vectors of VEC (16 or 4).
#if VEC == 16
#define COPY_VECTOR(i) vstore16(vload16(0, from + (i)), 0, to + (i))
#else
#define COPY_VECTOR(i) vstore4(vload4(0, from + (i)), 0, to + (i))
#endif

// Copies `count` elements. The last vector is moved back to end with them, so that short rests need no loop.
INLINED void FUNC(copy_row)(const global INPUT0_TYPE* restrict from, global OUTPUT0_TYPE* restrict to,
                            const int count) {
    if (count < VEC) {
        for (int i = 0; i < count; ++i) to[i] = from[i];
        return;
    }
    for (int i = 0; i + VEC <= count; i += VEC) COPY_VECTOR(i);
    if (count % VEC) COPY_VECTOR(count - VEC);
}
