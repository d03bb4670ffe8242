// Rows of attention that the warps of a group have, 16 each, while these go through the keys in blocks of KEYS
// (FlashAttention-2, Dao 2023): a lane has columns 2 * (lane % 4) and the next of each 8 of rows lane / 4 and
// 8 + lane / 4, as MULTIPLY_ADD holds sums (tensor_cores.h). Scores are in units of log(2), so that exp2 takes them.
// The kernel defines THREADS, a group's work-items, and PANEL_CHUNKS, the chunks of 8 halves of local memory's rows: of
// longer ones that many lie in one panel, the next ones in the panel behind.
#define LOG2_E 1.44269504f

// Starts copying `height` rows of `width` halves to local memory, of which `there` rows and `length` elements of each
// are there.
INLINED void FUNC(copy_rows)(const uint to, const global half* from, const int height, const int width,
                             const int there, const int length, const int pitch, const bool aligned) {
    const int chunks = width / 8, row = get_local_id(0) / chunks, chunk = get_local_id(0) % chunks;
    const int panel_chunks = min(chunks, PANEL_CHUNKS), panel = chunk / panel_chunks;
    const int count = clamp(length - chunk * 8, 0, 8);
#define FROM(i) (from + (long)(row + (i) * (THREADS / chunks)) * pitch + chunk * 8)
#define HALVES(i) (row + (i) * (THREADS / chunks) < there ? count : 0)
    COPY_CHUNKS(COPY16, height * chunks / THREADS,
                to + panel * height * panel_chunks * 16 + CHUNK_AT(row, chunk % panel_chunks, panel_chunks),
                THREADS / chunks * panel_chunks * 16, FROM, HALVES, aligned);
#undef FROM
#undef HALVES
}

// The masks of two neighbouring keys for one row: what is added to its scores.
#if MASK_IS_BOOLEAN || defined(INPUT3_IS_F16) || !WITH_MASK
typedef uint FUNC(masks);
#define NO_KEYS 0xFC00FC00
#define ADDED(masks) clinfer_unpack_halves(masks)
#else
typedef float2 FUNC(masks);
#define NO_KEYS (float2)(-INFINITY)
#define ADDED(masks) (masks)
#endif
#if WITH_MASK
// Those of elements `at` and the next one, of which so many are there; no keys in the place of others.
INLINED FUNC(masks) FUNC(load_masks)(const global INPUT3_TYPE* mask, const index_t at, const int there ARGS) {
    FUNC(masks) found = NO_KEYS;
#if MASK_IS_BOOLEAN
    if (there > 0 && INPUT3_LOAD(mask, at)) found &= 0xFFFF0000;
    if (there > 1 && INPUT3_LOAD(mask, at + INPUT3_PITCH_3)) found &= 0xFFFF;
#elif defined(INPUT3_IS_F16)
    const global ushort* halves = (const global ushort*)mask;
    if (there > 1 && INPUT3_PITCH_3 == 1 && at % 2 == 0) return *(const global uint*)(halves + at);
    if (there > 0) found = found & 0xFFFF0000 | halves[at];
    if (there > 1) found = found & 0xFFFF | (uint)halves[at + INPUT3_PITCH_3] << 16;
#else
    if (there > 0) found.x = INPUT3_LOAD(mask, at);
    if (there > 1) found.y = INPUT3_LOAD(mask, at + INPUT3_PITCH_3);
#endif
    return found;
}

INLINED void FUNC(load_masks_of_block)(FUNC(masks) (*masks)[2], const global INPUT3_TYPE* mask, const index_t* rows,
                                       const int first, const int keys ARGS) {
    #pragma unroll
    for (int k = 0; k < KEYS / 8; ++k)
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int at = first + k * 8 + get_local_id(0) % 4 * 2;
            masks[k][r] = FUNC(load_masks)(mask, rows[r] + at * INPUT3_PITCH_3, keys - at PASS_ARGS);
        }
}
#define LOAD_MASKS(masks, first) FUNC(load_masks_of_block)(masks, mask, mask_rows, first, keys PASS_ARGS)
#define FIND_MASKS(a, b, row) { \
        INPUT3_GET_INDEX(a, b, min(row, (int)OUTPUT0_SIZE_2 - 1), 0), \
        INPUT3_GET_INDEX(a, b, min((row) + 8, (int)OUTPUT0_SIZE_2 - 1), 0)}
#else
#define LOAD_MASKS(masks, first)
#define FIND_MASKS(a, b, row) {0}
#endif

// The highest score so far of both rows, and this lane's part of the sum of exp2(score - highest).
typedef struct { float highest[2], sums[2]; } FUNC(running);

// Of rows that have seen the sink alone, or nothing.
#if WITH_SINK
#define BEGIN_RUNNING(rows, a, b, row) do { \
        _Pragma("unroll") for (int r_ = 0; r_ < 2; ++r_) { \
            const int at_ = min((row) + r_ * 8, (int)OUTPUT0_SIZE_2 - 1); \
            (rows).highest[r_] = LOG2_E * INPUT5_LOAD(sink, INPUT5_GET_INDEX(a, b, at_, 0)); \
            (rows).sums[r_] = get_local_id(0) % 4 == 0; \
        } \
    } while (0)
#else
#define BEGIN_RUNNING(rows, a, b, row) do { \
        _Pragma("unroll") for (int r_ = 0; r_ < 2; ++r_) { \
            (rows).highest[r_] = -INFINITY; \
            (rows).sums[r_] = 0; \
        } \
    } while (0)
#endif

// Multiplies the products of queries and the block of keys from `first` on by `scale`, adds the masks where the block
// is masked, and makes weights of them; `rescale`: the factors for what was summed with the weights of the blocks
// before.
INLINED void FUNC(weigh)(float (*scores)[4], FUNC(running)* rows, float* rescale, const bool masked,
                         FUNC(masks) (*masks)[2], const float scale, const int first, const int own_row,
                         const bool seen_from_all, const int keys) {
    // What is still to be multiplied with; it keeps their order.
    const float factor = masked || scale <= 0 ? 1 : scale;
    if (factor == 1) {
        #pragma unroll
        for (int k = 0; k < KEYS / 8; ++k)
            #pragma unroll
            for (int n = 0; n < 4; ++n) scores[k][n] *= scale;
    }
    if (masked) {
        #pragma unroll
        for (int k = 0; k < KEYS / 8; ++k)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                const float2 both = ADDED(masks[k][n / 2]);
                const float added = n % 2 ? both.y : both.x;
                if (MASK_IS_BOOLEAN) scores[k][n] = added < 0 ? -INFINITY : scores[k][n];
                else scores[k][n] += LOG2_E * added;
            }
    }
    if (!seen_from_all || keys - first < KEYS) {
        #pragma unroll
        for (int k = 0; k < KEYS / 8; ++k)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                const int row = own_row + n / 2 * 8, at = first + k * 8 + (int)get_local_id(0) % 4 * 2 + n % 2;
                if (at >= keys || (IS_CAUSAL && at > row)) scores[k][n] = -INFINITY;
            }
    }
    float tops[2] = {-INFINITY, -INFINITY}, bases[2];
    #pragma unroll
    for (int k = 0; k < KEYS / 8; ++k)
        #pragma unroll
        for (int n = 0; n < 4; ++n) tops[n / 2] = fmax(tops[n / 2], scores[k][n]);
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        const float top = fmax(rows->highest[r], FUNC(four_lanes_max)(tops[r]) * factor);
        bases[r] = top == -INFINITY ? 0 : top;
        rescale[r] = QUICK_EXP2(rows->highest[r] - bases[r]);
        rows->highest[r] = top;
        rows->sums[r] *= rescale[r];
    }
    #pragma unroll
    for (int k = 0; k < KEYS / 8; ++k)
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            scores[k][n] = QUICK_EXP2(scores[k][n] * factor - bases[n / 2]);
            rows->sums[n / 2] += scores[k][n];
        }
}

// The weights of 16 keys, as MULTIPLY_ADD takes the left side.
#define WEIGHTS_OF(scores, k) {PACK_HALVES((scores)[(k) * 2][0], (scores)[(k) * 2][1]), \
                               PACK_HALVES((scores)[(k) * 2][2], (scores)[(k) * 2][3]), \
                               PACK_HALVES((scores)[(k) * 2 + 1][0], (scores)[(k) * 2 + 1][1]), \
                               PACK_HALVES((scores)[(k) * 2 + 1][2], (scores)[(k) * 2 + 1][3])}

INLINED void FUNC(rescale)(float (*totals)[4], const int count, const float* rescale) {
    #pragma unroll
    for (int v = 0; v < count; ++v)
        #pragma unroll
        for (int n = 0; n < 4; ++n) totals[v][n] *= rescale[n / 2];
}

INLINED void FUNC(clear)(float (*sums)[4], const int count) {
    #pragma unroll
    for (int i = 0; i < count; ++i)
        #pragma unroll
        for (int n = 0; n < 4; ++n) sums[i][n] = 0;
}

// Stores the weighted sums of values of both rows, `count` times 8 columns.
INLINED void FUNC(store_rows)(global OUTPUT0_TYPE* output, float (*totals)[4], const int count,
                              const FUNC(running)* rows, const int a, const int b, const int own_row ARGS) {
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int row = own_row + r * 8;
        const float sum = FUNC(four_lanes_sum)(rows->sums[r]), share = sum > 0 ? 1 / sum : 0;
        if (row >= OUTPUT0_SIZE_2) continue;
        #pragma unroll
        for (int v = 0; v < count; ++v) {
            const int at = v * 8 + (int)get_local_id(0) % 4 * 2, to = OUTPUT0_GET_INDEX(a, b, row, at);
            const float first = totals[v][r * 2] * share, second = totals[v][r * 2 + 1] * share;
#ifdef OUTPUT0_IS_F16
            if (OUTPUT0_PITCH_3 == 1 && to % 2 == 0 && at + 1 < OUTPUT0_SIZE_3) {
                *(global uint*)(output + to) = PACK_HALVES(first, second);
                continue;
            }
#endif
            if (at < OUTPUT0_SIZE_3) OUTPUT0_STORE(output, to, first);
            if (at + 1 < OUTPUT0_SIZE_3) OUTPUT0_STORE(output, to + OUTPUT0_PITCH_3, second);
        }
    }
}

// The entry of the batch (x) and the tile of rows (y) that a group computes: the last tiles, which see the most keys,
// first, those of ENTRIES entries before the next ones, so that groups that run at once find keys and values in the
// second-level cache.
#define ENTRIES 32
INLINED int2 FUNC(tile_of)(const int group, const int entries, const int tiles) {
    const int first = group / (ENTRIES * tiles) * ENTRIES, inside = group % (ENTRIES * tiles);
    const int width = min(ENTRIES, entries - first);
    return (int2)(first + inside % width, tiles - 1 - inside / width);
}

// What a group is to compute, and where it finds that.
#define FIND_GROUP \
    const int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32; \
    const int2 tile = FUNC(tile_of)(get_group_id(0), OUTPUT0_SIZE_0 * OUTPUT0_SIZE_1, \
                                    CEIL_DIV((int)OUTPUT0_SIZE_2, ROWS)); \
    const int first_row = tile.y * ROWS, own_row = first_row + warp * 16 + lane / 4; \
    const int b = tile.x % OUTPUT0_SIZE_1, a = tile.x / OUTPUT0_SIZE_1; \
    const int length = INPUT0_SIZE_3, width = INPUT2_SIZE_3; \
    const int keys = IS_CAUSAL ? min((int)INPUT2_SIZE_2, first_row + ROWS) : INPUT2_SIZE_2; \
    const float scale = SCALE_OF_SCORES * LOG2_E; \
    const global half* query_rows = (const global half*)query + INPUT0_GET_INDEX(a, b, first_row, 0); \
    const global half* key_rows = (const global half*)key + INPUT1_GET_INDEX(a, b / GROUPS, 0, 0); \
    const global half* value_rows = (const global half*)value + INPUT2_GET_INDEX(a, b / GROUPS, 0, 0); \
    const bool keys_aligned = IS_ALIGNED(key_rows, INPUT1_PITCH_2); \
    const bool values_aligned = IS_ALIGNED(value_rows, INPUT2_PITCH_2); \
    const index_t kinds_row = ROW_OF_KINDS(a, b, tile.y); \
    const int begin = SEEN_FROM(0, keys, kinds_row); \
    const index_t mask_rows[2] = FIND_MASKS(a, b, own_row); \
    FUNC(masks) masks[KEYS / 8][2]; \
    FUNC(running) running; \
    BEGIN_RUNNING(running, a, b, own_row)
#define IS_BLOCK_MASKED(first) (WITH_MASK && IS_MASKED(first, kinds_row))
// Whether all of a warp's rows see all keys of a block.
#define SEEN_FROM_ALL(first) (!IS_CAUSAL || (first) + KEYS <= first_row + warp * 16 + 1)
#define COPY_QUERIES(to) \
    FUNC(copy_rows)(to, query_rows, ROWS, QUERY_WIDTH, OUTPUT0_SIZE_2 - first_row, length, INPUT0_PITCH_2, \
                    IS_ALIGNED(query_rows, INPUT0_PITCH_2))
#define COPY_KEYS(to, first) \
    FUNC(copy_rows)(to, key_rows + (long)(first) * INPUT1_PITCH_2, KEYS, QUERY_WIDTH, keys - (first), length, \
                    INPUT1_PITCH_2, keys_aligned)
#define COPY_VALUES(to, first) \
    FUNC(copy_rows)(to, value_rows + (long)(first) * INPUT2_PITCH_2, KEYS, VALUE_WIDTH, keys - (first), width, \
                    INPUT2_PITCH_2, values_aligned)
