// Rows of bytes: behind the `size` bytes of a row at `p` stand two floats, which need not be aligned, `step` and
// `least`: element i is p[i] * step + least.
#define STEP_OF_ROW(p, size) as_float(vload4(0, (p) + (size)))
#define LEAST_OF_ROW(p, size) as_float(vload4(1, (p) + (size)))
#define ELEMENT_OF_ROW(p, size, i) fma((float)(p)[i], STEP_OF_ROW(p, size), LEAST_OF_ROW(p, size))
