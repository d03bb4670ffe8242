// Names that every kernel uses: its entry point, its private functions, small integer helpers.

#define CLINFER_CAT_(a, b) a##_##b
#define CLINFER_CAT(a, b) CLINFER_CAT_(a, b)

// The entry point of a kernel; the name in the source is for the reader, KERNEL_ID is unique.
#define KERNEL(name) kernel void KERNEL_ID

// A helper function of one kernel; kernels of a batch share one name space.
#define FUNC(name) CLINFER_CAT(name, KERNEL_ID)

// In front of a helper that must become part of its kernel: one that works on arrays which are registers there.
#define INLINED static inline __attribute__((always_inline))

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

// Coordinates of up to eight axes.
#define MAX_RANK 8
