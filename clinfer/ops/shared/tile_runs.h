// Runs of tiles, for CPUs: a work-item computes ARG_RUN tiles one behind another, fewer at the end, because a driver
// takes as long to begin a work-group as a small tile takes.
#ifndef ARG_RUN
#define ARG_RUN 1
#endif

// A loop over the tiles of this work-item, of `tiles` in all; a dimension of the launch counts the runs.
#define EACH_TILE_OF_RUN(dimension, tile, tiles) \
    for (index_t tile = (index_t)get_global_id(dimension) * ARG_RUN, \
             end_ = min(tile + (index_t)ARG_RUN, (index_t)(tiles)); tile < end_; ++tile)

// The same of an output that is cut into tiles of TILE_PIXELS pixels of a row, row by row: declares where the first
// pixel lies.
#define TILES_OF_ROW CEIL_DIV((index_t)OUTPUT0_SIZE_X, TILE_PIXELS)
#define TILES_OF_PICTURE (TILES_OF_ROW * OUTPUT0_SIZE_Y * OUTPUT0_SIZE_Z)
#define PLACE_IN_PICTURE(tile) \
    const index_t x = (tile) % TILES_OF_ROW * TILE_PIXELS, row_ = (tile) / TILES_OF_ROW; \
    const index_t y = row_ % OUTPUT0_SIZE_Y, z = row_ / OUTPUT0_SIZE_Y
