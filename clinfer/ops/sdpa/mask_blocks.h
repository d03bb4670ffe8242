// What masks do to blocks of ROWS queries and KEYS keys, as sdpa_mask_blocks.cl finds it: kinds [a, b, blocks of
// rows, blocks of keys], SCRATCH0.
//   KINDS_PARAMETER                the kernel's parameter
//   ROW_OF_KINDS(a, b, block)      where those of a block of rows stand
//   IS_MASKED(first, row)          whether masks are to be read of the block of keys from `first` on
//   SEEN_FROM(first, keys, row)    the first key, from `first` on, of a block that is not hidden; else `keys`
// Without BY_BLOCKS all blocks are masked.
#define FREE 0
#define MASKED 1
#define HIDDEN 2

#if BY_BLOCKS
#define KINDS_PARAMETER const global uchar* restrict kinds,
#define ROW_OF_KINDS(a, b, block) SCRATCH0_GET_INDEX(a, b, block, 0)
#define KIND_OF(first, row) kinds[(row) + (first) / KEYS * SCRATCH0_PITCH_3]
#define IS_MASKED(first, row) (KIND_OF(first, row) == MASKED)
#define SEEN_FROM(first, keys, row) FUNC(seen_from)(first, keys, kinds + (row), SCRATCH0_PITCH_3)
INLINED int FUNC(seen_from)(int first, const int keys, const global uchar* kinds, const int pitch) {
    while (first < keys && kinds[first / KEYS * pitch] == HIDDEN) first += KEYS;
    return min(first, keys);
}
#else
#define KINDS_PARAMETER
#define ROW_OF_KINDS(a, b, block) 0
#define IS_MASKED(first, row) true
#define SEEN_FROM(first, keys, row) (first)
#endif
