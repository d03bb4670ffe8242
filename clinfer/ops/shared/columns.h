// Columns: axis 2 of views [a, b, length, inner] with a contiguous inner axis. A work-item takes VEC neighbours (1 or
// 16; inner is a multiple of VEC). Dimension 0: vectors along inner (the last group is not full), 1: a times b.
//   COLUMN            the work-item's first place along inner
//   COLUMN_INDEX(T)   where its columns start in T
#include "shared/vectors.h"

#define COLUMN ((index_t)get_global_id(0) * VEC)
#define COLUMN_INDEX(T) \
    T##_GET_INDEX((index_t)get_global_id(1) / INPUT0_SIZE_1, (index_t)get_global_id(1) % INPUT0_SIZE_1, 0, COLUMN)
