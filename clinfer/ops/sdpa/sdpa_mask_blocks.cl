// What a mask [a, b, L, S] does to blocks of ROWS queries by KEYS keys: kinds [a, b, blocks of queries, blocks of
// keys], SCRATCH0, are FREE where it adds nothing, HIDDEN where it hides all keys from all queries, else MASKED. A
// group looks at one block. Dimension 0: blocks of keys, 1: of queries, 2: a times b.
#include "clinfer.cl"

#ifndef KEYS
#define KEYS 64
#define ROWS 64
#define MASK_IS_BOOLEAN 0
#define BY_BLOCKS 0
#endif

#include "mask_blocks.h"

#define ITEMS 128
#define ADDS 1
#define SHOWS 2

__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
KERNEL(sdpa_mask_blocks)(const global INPUT3_TYPE* restrict mask, global uchar* restrict kinds ARGS) {
    local int found;
    const int item = get_local_id(0), block = get_group_id(0), rows = get_group_id(1);
    const int b = (int)get_group_id(2) % SCRATCH0_SIZE_1, a = (int)get_group_id(2) / SCRATCH0_SIZE_1;
    const int key = block * KEYS + item % KEYS;
    if (item == 0) found = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    int own = 0;
    if (key < INPUT3_SIZE_3) {
        #pragma unroll 8
        for (int i = 0; i < ROWS * KEYS / ITEMS; ++i) {
            const int row = rows * ROWS + item / KEYS + i * (ITEMS / KEYS);
            const index_t at = INPUT3_GET_INDEX(a, b, min(row, (int)INPUT3_SIZE_2 - 1), key);
#if MASK_IS_BOOLEAN
            own |= INPUT3_LOAD(mask, at) ? SHOWS : ADDS;
#else
            const float added = INPUT3_LOAD(mask, at);
            own |= (added != 0 ? ADDS : 0) | (added != -INFINITY ? SHOWS : 0);
#endif
        }
    }
    if (own) atomic_or(&found, own);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        kinds[SCRATCH0_GET_INDEX(a, b, rows, block)] = !(found & ADDS) ? FREE : found & SHOWS ? MASKED : HIDDEN;
}
