// Packs the right side of a matrix product into panels of 32 columns for matmul_tile, on CPUs: panel p
// holds, for each k in turn, columns p * 32 onwards. What stands behind the last column is unspecified.
// One work-item packs ROWS consecutive k of one panel, 16 columns at a time. Where the k of a column lie
// together (RIGHT_ALONG_K), blocks of 16 x 16 are transposed in registers.
// Views: right [..., K, N], packed [..., panels, K * 32].
#include "clinfer.cl"

#ifndef RIGHT_ALONG_K
#define RIGHT_ALONG_K 0
#define ROWS 64
#endif

#define PANEL_COLUMNS 32

// Exchanges, between each two rows `distance` apart, the upper part of one with the lower of the other.
#define EXCHANGE(distance, LOW, HIGH) \
    _Pragma("unroll") \
    for (int i = 0; i < 16; ++i) { \
        if (i & (distance)) continue; \
        const float16 a = rows[i], b = rows[i + (distance)]; \
        rows[i] = LOW; \
        rows[i + (distance)] = HIGH; \
    }

void FUNC(transpose)(float16* rows) {
    EXCHANGE(8, (float16)(a.lo, b.lo), (float16)(a.hi, b.hi))
    EXCHANGE(4, (float16)(a.s0123, b.s0123, a.s89ab, b.s89ab), (float16)(a.s4567, b.s4567, a.scdef, b.scdef))
    EXCHANGE(2, (float16)(a.s01, b.s01, a.s45, b.s45, a.s89, b.s89, a.scd, b.scd),
             (float16)(a.s23, b.s23, a.s67, b.s67, a.sab, b.sab, a.sef, b.sef))
    EXCHANGE(1, (float16)(a.s0, b.s0, a.s2, b.s2, a.s4, b.s4, a.s6, b.s6,
                          a.s8, b.s8, a.sa, b.sa, a.sc, b.sc, a.se, b.se),
             (float16)(a.s1, b.s1, a.s3, b.s3, a.s5, b.s5, a.s7, b.s7,
                       a.s9, b.s9, a.sb, b.sb, a.sd, b.sd, a.sf, b.sf))
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(matmul_pack)(const global INPUT1_TYPE* restrict right, global SCRATCH0_TYPE* restrict packed ARGS) {
    const int panel = get_global_id(0);
    index_t at[MAX_RANK];
    SCRATCH0_UNRAVEL((index_t)get_global_id(2) * SCRATCH0_SIZE_Y * SCRATCH0_SIZE_X, at);
    const index_t from = INPUT1_INDEX_OF(at);
    at[SCRATCH0_RANK - 2] = panel;
    const int first = (int)get_global_id(1) * ROWS, last = min(first + ROWS, (int)INPUT1_SIZE_Y);
    for (int part = 0; part < PANEL_COLUMNS; part += 16) {
        const int column = panel * PANEL_COLUMNS + part, last_column = INPUT1_SIZE_X - 1 - column;
        const index_t source = from + column * INPUT1_PITCH_X, target = SCRATCH0_INDEX_OF(at) + part;
        if (last_column < 0) break;
        int k = first;
#if RIGHT_ALONG_K
        for (; k + 16 <= last; k += 16) {
            float16 rows[16];
            #pragma unroll
            for (int i = 0; i < 16; ++i)
                rows[i] = INPUT1_LOAD16(right, source + min(i, last_column) * INPUT1_PITCH_X + k * INPUT1_PITCH_Y);
            FUNC(transpose)(rows);
            #pragma unroll
            for (int i = 0; i < 16; ++i) SCRATCH0_STORE16(packed, target + (k + i) * PANEL_COLUMNS, rows[i]);
        }
#else
        if (last_column >= 15 && INPUT1_PITCH_X == 1)
            for (; k < last; ++k)
                SCRATCH0_STORE16(packed, target + k * PANEL_COLUMNS, INPUT1_LOAD16(right, source + k * INPUT1_PITCH_Y));
#endif
        for (; k < last; ++k)
            for (int i = 0; i <= min(15, last_column); ++i)
                SCRATCH0_STORE(packed, target + k * PANEL_COLUMNS + i,
                               INPUT1_LOAD(right, source + i * INPUT1_PITCH_X + k * INPUT1_PITCH_Y));
    }
}
