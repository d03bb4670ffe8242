// What attention kernels take beside queries, keys and values:
//   EXTRAS               their parameters, those that there are: mask [a, b, L, S], scale, sink [a, b, L, 1] and
//                        table [T, a]
//   SCALE_OF_SCORES      the scale
//   BEGIN_ROW(highest, sum, a, b, row)   the maximum and sum of a row before its first key: nothing, or the sink's
//   ENTRY_OF_KEY(a, s)   the entry of the first axis in which key s of entry a, and its value, lie

#ifndef IS_CAUSAL
#define IS_CAUSAL 0
#define WITH_MASK 1
#define MASK_IS_BOOLEAN 0
#define WITH_SCALE 0
#define WITH_SINK 0
#define GROUPS 1
#define IN_BYTE_ROWS 0
#define BY_TABLE 0
#define SCALE rsqrt((float)INPUT0_SIZE_LAST)
#endif

#include "shared/byte_rows.h"

#if WITH_MASK
#define MASK_PARAMETER const global INPUT3_TYPE* restrict mask,
#else
#define MASK_PARAMETER
#endif
#if WITH_SCALE
#define SCALE_PARAMETER const global INPUT4_TYPE* restrict scale_input,
#define SCALE_OF_SCORES INPUT4_LOAD(scale_input, INPUT4_OFFSET)
#else
#define SCALE_PARAMETER
#define SCALE_OF_SCORES SCALE
#endif
#if WITH_SINK
#define SINK_PARAMETER const global INPUT5_TYPE* restrict sink,
#define BEGIN_ROW(highest, sum, a, b, row) do { \
        (highest) = INPUT5_LOAD(sink, INPUT5_GET_INDEX(a, b, row, 0)); \
        (sum) = 1; \
    } while (0)
#else
#define SINK_PARAMETER
#define BEGIN_ROW(highest, sum, a, b, row) do { \
        (highest) = -INFINITY; \
        (sum) = 0; \
    } while (0)
#endif
#if BY_TABLE
#define TABLE_PARAMETER const global int* restrict table,
#define ENTRY_OF_KEY(a, s) ((s) < TABLE_SIZE_0 ? table[TABLE_GET_INDEX(s, a)] : (a))
#else
#define TABLE_PARAMETER
#define ENTRY_OF_KEY(a, s) (a)
#endif
#define EXTRAS MASK_PARAMETER SCALE_PARAMETER SINK_PARAMETER TABLE_PARAMETER
