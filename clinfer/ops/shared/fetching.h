// What a CPU is asked to have in its caches, where the compiler can; p may lie outside of any buffer:
//   FETCH_LINE(p)       the line at p in the first level, soon
//   FETCH_FAR_LINE(p)   in the second level, from memory
#if CLINFER_PREFETCH
#define FETCH_LINE(p) __builtin_prefetch((p), 0, 3)
#define FETCH_FAR_LINE(p) __builtin_prefetch((p), 0, 2)
#else
#define FETCH_LINE(p) ((void)0)
#define FETCH_FAR_LINE(p) ((void)0)
#endif
#define LINE_BYTES 64
