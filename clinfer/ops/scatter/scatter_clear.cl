// Sets all ARG_SLOTS slots to -1: nobody has claimed them. One work-item sets one.
#include "clinfer.cl"

#ifndef ARG_SLOTS
#define ARG_SLOTS 4096
#endif

KERNEL(scatter_clear)(global int* restrict slots ARGS) {
    const index_t item = get_global_id(0);
    if (item < ARG_SLOTS) slots[item] = -1;
}
