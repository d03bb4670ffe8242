// Tiles of matrix products on tensor cores (tensor_cores.h): left [rows, K] by right [K, columns] of f16, float sums.
// A group of WARPS_DOWN x WARPS_ACROSS warps computes a tile of TILE_ROWS x TILE_COLUMNS results, a warp a part of
// PART_ROWS x PART_COLUMNS of them. It goes through K in steps of DEPTH. A step of both sides lies in local memory,
// STAGES steps at a time: while one is multiplied, the next ones are on their way. There a side is rows of chunks of
// 8 halves (CHUNK_AT): the left one TILE_ROWS rows along k, the right one TILE_COLUMNS rows along k (RIGHT_ALONG_K) or
// DEPTH rows along the columns, with WARP_GROUPS those of 64 columns behind those of the next 64.
// With WARP_GROUPS, groups of four warps multiply (warp_groups.h): DEPTH is 64, WARPS_ACROSS is 1, and a warp's part is
// 16 of each 16 * WARPS_DOWN rows. With COPYING_WARPS, of so many other warps, those with the first numbers, one
// work-item has boxes of both sides copied (bulk_copies.h): it is steps ahead, those of the group's next tile included,
// while the results of a tile are stored; a group then computes every n-th tile. Of two TEAMS of
// WARPS_DOWN x WARPS_ACROSS warps each computes every second of these tiles: it multiplies while the other one stores.
// With SHARED_STEPS (split-K) the steps of a tile are the work of ARG_SHARES groups, ARG_SHARE_STEPS steps each or what
// is left (shared_steps.h); a group then does every n-th work.
//   COMPUTE_TILES(memory, tiles, steps)   computes those of all numbers below `tiles` that are this group's: `steps`
//                                         steps each; `memory`: LOCAL_BYTES of local memory, aligned to STEP_ALIGNMENT
// The kernel defines FIND_SIDES(tile), which finds what is copied for a tile; COPY_STEP(to, s), which then starts the
// copies of step s to local memory at `to`, the right side LEFT_BYTES behind the left, for s = 0, 1, 2, ... in this
// order; and STORE_TILE(tile, sum, strip), which finds where its results belong and calls STORE_RESULTS
// (store_tiles.h). With COPYING_WARPS it is FIND_SIDES(tile, s), of which step s is copied first, and
// COPY_STEP(to, s, barrier), whose bytes `barrier` counts; PREFETCH_TILE(tile) asks for what the fused operations of a
// tile will read.
#ifndef TEAMS
#define TEAMS 1
#endif
#ifndef SHARED_STEPS
#define SHARED_STEPS 0
#endif
#define TEAM_WARPS (WARPS_DOWN * WARPS_ACROSS)
#define ADDING_WARPS (TEAMS * TEAM_WARPS)
#define THREADS (32 * (ADDING_WARPS + COPYING_WARPS))
#define ADDING_WARP ((int)get_local_id(0) / 32 - COPYING_WARPS)
#define TEAM_WARP (ADDING_WARP % TEAM_WARPS)
#define PART_ROWS (TILE_ROWS / WARPS_DOWN)
#define PART_COLUMNS (TILE_COLUMNS / WARPS_ACROSS)
#define LEFT_BYTES (TILE_ROWS * DEPTH * 2)
#define STEP_BYTES (LEFT_BYTES + TILE_COLUMNS * DEPTH * 2)
#ifndef STRIP_COLUMNS
#define STRIP_COLUMNS (PART_COLUMNS < 64 ? PART_COLUMNS : 64)
#endif
#define STRIP_FLOATS (16 * STRIP_COLUMNS)
// The first row of a warp's i-th block of 16 rows.
#if WARP_GROUPS
#define BLOCK_ROW(warp, i) (((i) * WARPS_DOWN + (warp)) * 16)
#else
#define BLOCK_ROW(warp, i) ((warp) / WARPS_ACROSS * PART_ROWS + (i) * 16)
#endif
#if COPYING_WARPS
#define LOCAL_BYTES (STAGES * (STEP_BYTES + 16) + ADDING_WARPS * STRIP_FLOATS * 4 + 16)
#else
#define LOCAL_BYTES (STAGES * STEP_BYTES)
#endif
#define CHUNK_ALONG_K(row, chunk) CHUNK_AT(row, chunk, DEPTH / 8)
#if WARP_GROUPS
#define CHUNK_ALONG_COLUMNS(row, chunk) ((chunk) / 8 * DEPTH * 128 + CHUNK_AT(row, (chunk) % 8, 8))
#define BYTES_ALONG_COLUMNS 128
#define STEP_ALIGNMENT 1024
#else
#define CHUNK_ALONG_COLUMNS(row, chunk) CHUNK_AT(row, chunk, TILE_COLUMNS / 8)
#define BYTES_ALONG_COLUMNS (TILE_COLUMNS * 2)
#define STEP_ALIGNMENT 128
#endif

// A work-item copies the same chunk of every n-th row along k.
#define ROWS_APART(chunks) (THREADS / (chunks))
#define LEFT_COPIES (TILE_ROWS / ROWS_APART(DEPTH / 8))
#define RIGHT_COPIES (TILE_COLUMNS / ROWS_APART(DEPTH / 8))
#define OWN_CHUNK ((int)get_local_id(0) % (DEPTH / 8))
#define OWN_ROW ((int)get_local_id(0) / (DEPTH / 8))

// Where the rows along k of this work-item begin. Rows behind the last are the last again: what comes of them is not
// stored.
#define FIND_ROWS(rows, count, first, last, pitch) do { \
        _Pragma("unroll") for (int i_ = 0; i_ < (count); ++i_) \
            (rows)[i_] = (first) + (long)min(OWN_ROW + i_ * ROWS_APART(DEPTH / 8), (int)(last)) * (pitch) \
                + OWN_CHUNK * 8; \
    } while (0)

// Starts copying the step at k of `depth` of rows along k, zeros behind the last k, by COPY (see COPY_CHUNKS).
#define COPY_ROWS(COPY, to, rows, count, k, depth, aligned) do { \
        const int there_ = clamp((int)(depth) - (k) - OWN_CHUNK * 8, 0, 8); \
        const uint to_ = (to) + CHUNK_ALONG_K(OWN_ROW, OWN_CHUNK); \
        _Pragma("unroll") for (int i_ = 0; i_ < (count); ++i_) { \
            if (aligned) COPY(to_ + i_ * THREADS * 16, (rows)[i_] + (k), there_ * 2); \
            else COPY_CHUNK(to_ + i_ * THREADS * 16, (rows)[i_] + (k), there_); \
        } \
    } while (0)

// The same of a right side whose rows go along the columns, of which `columns` are there.
INLINED void FUNC(copy_columns)(const uint to, const global half* right, const int columns, const int k,
                                const int depth, const int pitch, const bool aligned) {
    const int row = get_local_id(0) / (TILE_COLUMNS / 8), chunk = get_local_id(0) % (TILE_COLUMNS / 8);
    const int there = clamp(columns - chunk * 8, 0, 8), apart = ROWS_APART(TILE_COLUMNS / 8);
#define FROM(i) (right + (long)(k + row + (i) * apart) * pitch + chunk * 8)
#define HALVES(i) (k + row + (i) * apart < depth ? there : 0)
    COPY_CHUNKS(COPY16_LEAVING, DEPTH / apart, to + CHUNK_ALONG_COLUMNS(row, chunk), apart * BYTES_ALONG_COLUMNS, FROM,
                HALVES, aligned);
#undef FROM
#undef HALVES
}

INLINED int FUNC(tiles_of)(const int rows, const int columns) {
    return ((rows + TILE_ROWS - 1) / TILE_ROWS) * ((columns + TILE_COLUMNS - 1) / TILE_COLUMNS);
}

// The tile (x: of columns, y: of rows) that a group computes: down the rows of a band of 8 tiles, then the next column,
// so that groups that run at once share what they read.
INLINED int2 FUNC(tile_of)(const int group, const int rows, const int columns) {
    const int down = (rows + TILE_ROWS - 1) / TILE_ROWS, across = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const int first = group / (8 * across) * 8, inside = group % (8 * across), height = min(down - first, 8);
    return (int2)(inside / height, first + inside % height);
}

INLINED void FUNC(clear)(float (*sum)[PART_COLUMNS / 8][4]) {
    #pragma unroll
    for (int i = 0; i < PART_ROWS / 16; ++i)
        #pragma unroll
        for (int j = 0; j < PART_COLUMNS / 8; ++j)
            #pragma unroll
            for (int n = 0; n < 4; ++n) sum[i][j][n] = 0;
}

#if !WARP_GROUPS
// Loads 16 of k of a warp's part of both sides, while those before are multiplied.
INLINED void FUNC(load_parts)(uint (*a)[4], uint (*b)[4], const uint left, const uint right, const int k) {
    const int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32;
    const int row = warp / WARPS_ACROSS * PART_ROWS, column = warp % WARPS_ACROSS * PART_COLUMNS;
    #pragma unroll
    for (int i = 0; i < PART_ROWS / 16; ++i)
        LOAD_FRAGMENTS(a[i], left + CHUNK_ALONG_K(row + i * 16 + lane % 16, k / 8 + lane / 16));
    #pragma unroll
    for (int j = 0; j < PART_COLUMNS / 16; ++j) {
#if RIGHT_ALONG_K
        LOAD_FRAGMENTS(b[j], right + CHUNK_ALONG_K(column + j * 16 + lane / 16 * 8 + lane % 8, k / 8 + lane / 8 % 2));
#else
        LOAD_TRANSPOSED(b[j], right + CHUNK_ALONG_COLUMNS(k + lane % 16, column / 8 + j * 2 + lane / 16));
#endif
    }
}

// Small parts wait for each product before they add the next one: every second one then goes to sums of its own.
#define ADDS_APART (PART_ROWS * PART_COLUMNS <= 256)
INLINED void FUNC(add_step)(float (*sum)[PART_COLUMNS / 8][4], const uint left, const uint right) {
    float others[PART_ROWS / 16][PART_COLUMNS / 8][4];
    if (ADDS_APART) FUNC(clear)(others);
    uint a[2][PART_ROWS / 16][4], b[2][PART_COLUMNS / 16][4];
    FUNC(load_parts)(a[0], b[0], left, right, 0);
    #pragma unroll
    for (int k = 0; k < DEPTH; k += 16) {
        const int now = k / 16 % 2;
        if (k + 16 < DEPTH) FUNC(load_parts)(a[!now], b[!now], left, right, k + 16);
        #pragma unroll
        for (int i = 0; i < PART_ROWS / 16; ++i)
            #pragma unroll
            for (int j = 0; j < PART_COLUMNS / 8; ++j)
                MULTIPLY_ADD(ADDS_APART && now ? others[i][j] : sum[i][j], a[now][i], b[now][j / 2][j % 2 * 2],
                             b[now][j / 2][j % 2 * 2 + 1]);
    }
    if (ADDS_APART) {
        #pragma unroll
        for (int i = 0; i < PART_ROWS / 16; ++i)
            #pragma unroll
            for (int j = 0; j < PART_COLUMNS / 8; ++j)
                #pragma unroll
                for (int n = 0; n < 4; ++n) sum[i][j][n] += others[i][j][n];
    }
}
#endif

#if WARP_GROUPS
#define GROUP_LEFT(i) (((i) * WARPS_DOWN + TEAM_WARP) / 4 * 64 * DEPTH * 2)
#define MULTIPLY_BLOCKS(sum, step) do { \
        _Pragma("unroll") for (int i_ = 0; i_ < PART_ROWS / 16; ++i_) \
            MULTIPLY_STEP((sum)[i_], (step) + GROUP_LEFT(i_), (step) + LEFT_BYTES); \
    } while (0)
#define BLOCKS_WAIT(sum) do { \
        _Pragma("unroll") for (int i_ = 0; i_ < PART_ROWS / 16; ++i_) PRODUCTS_WAIT((sum)[i_]); \
    } while (0)
#endif

#if COPYING_WARPS
// A step's place in local memory is full when all its bytes have come, and empty again when all adding warps have
// multiplied it. Both are said by barriers in local memory, behind the strips, that go through phases 0, 1, 0, ... It
// is a team's TURN when the other one has found all steps of the tile before.
#define STEP_AT(n) (SHARED(memory) + (n) % STAGES * STEP_BYTES)
#define FULL(n) (barriers_ + (n) % STAGES * 16)
#define EMPTY(n) (FULL(n) + 8)
#define TURN(team) (barriers_ + STAGES * 16 + (team) * 8)
#define PHASE(n) ((n) / STAGES % 2)
#if !SHARED_STEPS
#define WORKS(tiles) (tiles)
#define TILE_OF(work, tiles) (work)
#define FIRST_STEP(work, tiles) 0
#define END_STEP(work, tiles, steps) (steps)
#define ADD_SHARES(sum, work, tiles) true
#define SHARING_PARAMETERS
#endif
#define COPY_TILES(tiles, steps) do { \
        if (get_local_id(0) >= 32) break; \
        for (int work_ = get_group_id(0); work_ < WORKS(tiles); work_ += get_num_groups(0)) { \
            WARP_BARRIER(); \
            if (get_local_id(0)) { \
                PREFETCH_TILE(TILE_OF(work_, tiles)); \
                continue; \
            } \
            FIND_SIDES(TILE_OF(work_, tiles), FIRST_STEP(work_, tiles)); \
            for (int s_ = FIRST_STEP(work_, tiles); s_ < END_STEP(work_, tiles, steps); ++s_, ++n_) { \
                PHASE_WAIT(EMPTY(n_), PHASE(n_) ^ 1); \
                EXPECT_BYTES(FULL(n_), STEP_BYTES); \
                COPY_STEP(STEP_AT(n_), s_, FULL(n_)); \
            } \
        } \
    } while (0)
#define COMPUTE_TILES(memory, tiles, steps) do { \
        local float* strips_ = (local float*)((memory) + STAGES * STEP_BYTES); \
        const uint barriers_ = SHARED(strips_ + ADDING_WARPS * STRIP_FLOATS); \
        if (get_local_id(0) < STAGES) { \
            PHASES_BEGIN(FULL(get_local_id(0)), 1); \
            PHASES_BEGIN(EMPTY(get_local_id(0)), TEAM_WARPS); \
            if (get_local_id(0) < TEAMS) PHASES_BEGIN(TURN(get_local_id(0)), TEAM_WARPS); \
            COPIES_SHOWN(); \
        } \
        GROUP_BARRIER(); \
        uint n_ = 0; \
        if (get_local_id(0) < 32 * COPYING_WARPS) { \
            FEWER_REGISTERS(); \
            COPY_TILES(tiles, steps); \
        } else { \
            MORE_REGISTERS(); \
            const int team_ = TEAMS == 1 ? 0 : ADDING_WARP / TEAM_WARPS, is_first_ = get_local_id(0) % 32 == 0; \
            int work_ = get_group_id(0) + team_ * get_num_groups(0); \
            n_ = team_ * (steps); \
            for (uint turn_ = team_ == 0; work_ < WORKS(tiles); work_ += TEAMS * get_num_groups(0), ++turn_) { \
                float sum_[PART_ROWS / 16][PART_COLUMNS / 8][4]; \
                const int steps_ = END_STEP(work_, tiles, steps) - FIRST_STEP(work_, tiles); \
                FUNC(clear)(sum_); \
                if (TEAMS > 1) PHASE_WAIT(TURN(team_), turn_ % 2); \
                for (int s_ = 0; s_ < steps_; ++s_, ++n_) { \
                    PHASE_WAIT(FULL(n_), PHASE(n_)); \
                    MULTIPLY_BLOCKS(sum_, STEP_AT(n_)); \
                    PRODUCTS_BUT_ONE_WAIT(); \
                    if (s_ && is_first_) ARRIVE(EMPTY(n_ - 1)); \
                } \
                if (TEAMS > 1 && is_first_) ARRIVE(TURN(1 - team_)); \
                BLOCKS_WAIT(sum_); \
                if (steps_ && is_first_) ARRIVE(EMPTY(n_ - 1)); \
                n_ += (TEAMS - 1) * (steps); \
                if (ADD_SHARES(sum_, work_, tiles)) STORE_TILE(TILE_OF(work_, tiles), sum_, strips_); \
            } \
        } \
    } while (0)
#elif WARP_GROUPS
// The products of a step go on while the next step's copies are waited for: a step's place in local memory is free
// when the products behind it have begun.
#define ADD_STEPS(sum, steps, count) do { \
        FUNC(clear)(sum); \
        _Pragma("unroll 1") for (int s_ = 0; s_ < STAGES - 2; ++s_) { \
            if (s_ < (count)) COPY_STEP(SHARED(steps) + s_ * STEP_BYTES, s_); \
            COPIES_END(); \
        } \
        for (int s_ = 0, stage_ = 0, next_ = STAGES - 2; s_ < (count); ++s_) { \
            COPIES_WAIT(STAGES - 3); \
            COPIES_SHOWN(); \
            GROUP_BARRIER(); \
            MULTIPLY_BLOCKS(sum, SHARED(steps) + stage_ * STEP_BYTES); \
            PRODUCTS_BUT_ONE_WAIT(); \
            if (s_ + STAGES - 2 < (count)) COPY_STEP(SHARED(steps) + next_ * STEP_BYTES, s_ + STAGES - 2); \
            COPIES_END(); \
            stage_ = stage_ + 1 == STAGES ? 0 : stage_ + 1; \
            next_ = next_ + 1 == STAGES ? 0 : next_ + 1; \
        } \
        BLOCKS_WAIT(sum); \
        COPIES_WAIT(0); \
        GROUP_BARRIER(); \
    } while (0)
#else
// One loop, which at first only copies: what a group executes once is fetched from memory first.
#define ADD_STEPS(sum, steps, count) do { \
        FUNC(clear)(sum); \
        _Pragma("unroll 1") for (int s_ = 1 - STAGES, stage_ = 0, next_ = 0; s_ < (count); ++s_) { \
            if (s_ >= 0) { \
                COPIES_WAIT(STAGES - 2); \
                GROUP_BARRIER(); \
            } \
            if (s_ + STAGES - 1 < (count)) COPY_STEP(SHARED(steps) + next_ * STEP_BYTES, s_ + STAGES - 1); \
            COPIES_END(); \
            next_ = next_ + 1 == STAGES ? 0 : next_ + 1; \
            if (s_ < 0) continue; \
            FUNC(add_step)(sum, SHARED(steps) + stage_ * STEP_BYTES, \
                           SHARED(steps) + stage_ * STEP_BYTES + LEFT_BYTES); \
            stage_ = stage_ + 1 == STAGES ? 0 : stage_ + 1; \
        } \
        COPIES_WAIT(0); \
        GROUP_BARRIER(); \
    } while (0)
#endif

#if !COPYING_WARPS
#define COMPUTE_TILES(memory, tiles, steps) do { \
        const int tile_ = get_group_id(0); \
        float sum_[PART_ROWS / 16][PART_COLUMNS / 8][4]; \
        FIND_SIDES(tile_); \
        ADD_STEPS(sum_, memory, steps); \
        STORE_TILE(tile_, sum_, (local float*)(memory)); \
    } while (0)
#endif
