// What a CPU is asked to have in its caches, where the compiler can; p may lie outside of any buffer:
//   FETCH_LINE(p)       the line at p in the first level, soon
//   FETCH_FAR_LINE(p)   in the second level, from memory
//   FETCH_FOR_STORES(p) in the first level, of which no other core has it then: stores that are soon to come would wait
#if CLINFER_PREFETCH
#define FETCH_LINE(p) __builtin_prefetch((p), 0, 3)
#define FETCH_FAR_LINE(p) __builtin_prefetch((p), 0, 2)
#define FETCH_FOR_STORES(p) __builtin_prefetch((p), 1, 3)
#else
#define FETCH_LINE(p) ((void)0)
#define FETCH_FAR_LINE(p) ((void)0)
#define FETCH_FOR_STORES(p) ((void)0)
#endif
#define LINE_BYTES 64
