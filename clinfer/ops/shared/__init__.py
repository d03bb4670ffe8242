"""What operations share: copying kernels, views of parts of tensors, rows and columns along axes, tiles; and the
headers of their kernels (`#include "shared/rows.h"`)."""
