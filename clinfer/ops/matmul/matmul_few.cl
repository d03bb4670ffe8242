// Matrix product of a few rows on NVIDIA's tensor cores: a left side of f16, weights of f16 or compressed ones of 8 or
// 4 bits (weights.h) whose k lie together, sums in float.
// Sides change places: 16 columns are the rows of the instructions' left matrix, ROWS rows (8 or a multiple) the
// columns of their right one. The warps of a group share the k of its 16 columns, in blocks of four pieces of 16 bytes,
// which are PIECE weights; half a step is BLOCKS blocks of each warp. Of a block, lane 4 * i + j has piece j of columns
// i and 8 + i, and of row i: that is another order of k than the instruction's, the same on both sides.
// Weights go from memory straight to registers: those of the next step's first half, perhaps of another tile, while the
// second half of this one is multiplied, and so on. They depend on no other kernel's work: in a megakernel the first
// are asked for before its groups have met.
// Views, all of one rank: left [..., M, K], right [..., K, N], output [..., M, N]; bias [N]. One product; pieces of
// both sides start at multiples of 16 bytes.
// Groups: every n-th tile of rows of 16 columns, ARG_GROUPS of them.
#include "clinfer.cl"

#ifndef ROWS
#define ROWS 8
#define WARPS 8
#define PIECE 8
#define BLOCKS 4
#define IS_SIGNED 0
#define ARG_GROUPS 1
#endif

#include "shared/bias.h"
#include "weights.h"
#include "shared/tensor_cores.h"
#include "pieces.h"

#if COMPRESSED && HAS_ZERO_POINT
#define BOTH_SIDES " 0 1 2 3"
#elif COMPRESSED
#define BOTH_SIDES " 0 1 2"
#else
#define BOTH_SIDES " 0 1"
#endif
#define COLUMNS 16
#define TILES (ROWS / 8)
#define BLOCK (4 * PIECE)

#ifdef __NV_CL_C_VERSION
#define AWAIT_OTHERS(has_read) asm volatile("// awaits others, has read" has_read ::: "memory")
// 16 bytes, which are the first to leave the second-level cache.
#define LOAD_PIECE(piece, from, policy) \
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" \
        : "=r"((piece).x), "=r"((piece).y), "=r"((piece).z), "=r"((piece).w) : "l"((ulong)(from)), "l"(policy))
#else
#define AWAIT_OTHERS(has_read)
#define LOAD_PIECE(piece, from, policy) ((piece) = *(const global uint4*)(from), (void)(policy))
#endif

// Halves of the left side, in the order of unpacked weights.
INLINED void FUNC(load_pairs)(uint* pairs, const global half* from) {
    #pragma unroll
    for (int i = 0; i < PIECE / 8; ++i) {
        const uint4 eight = ((const global uint4*)from)[i];
#if PIECE == 32
        pairs[4 * i] = FUNC(pick_bytes)(eight.x, eight.z, 0x5410);
        pairs[4 * i + 1] = FUNC(pick_bytes)(eight.x, eight.z, 0x7632);
        pairs[4 * i + 2] = FUNC(pick_bytes)(eight.y, eight.w, 0x5410);
        pairs[4 * i + 3] = FUNC(pick_bytes)(eight.y, eight.w, 0x7632);
#else
        pairs[4 * i] = eight.x;
        pairs[4 * i + 1] = eight.y;
        pairs[4 * i + 2] = eight.z;
        pairs[4 * i + 3] = eight.w;
#endif
    }
}

#define ITEMS (WARPS * 32)
// Blocks that lie side by side are a warp's as far as that goes: 128 bytes of a column come at once.
#define TOGETHER (BLOCKS > 1 ? 2 : 1)
#define PLACE_OF(h, b) (((h) * BLOCKS + (b) / TOGETHER * TOGETHER) * WARPS + (b) % TOGETHER)
#define STEP (2 * BLOCKS * WARPS * BLOCK)
#define BYTES_OF(index) (PIECE == 32 ? (index) / 2 : (index) * (16 / PIECE))
#if GROUP_SIZE
#define OF_GROUP(k, pitch) ((index_t)GROUP_OF(k) * (pitch))
#else
#define OF_GROUP(k, pitch) 0
#endif

// Where a lane's part of a step begins: in its two columns, their scales and zero points, and its row of the left side,
// of which so many are left; with k, of `depth`.
typedef struct {
    const global uchar* weights[2];
    index_t scales[2], zeros[2];
    const global half* row;
    int rows_left, k, depth;
} FUNC(place);
// What a lane has of a block: its weights in both columns, their scales and zero points, and halves of its rows.
typedef struct {
    uint4 pieces[2];
    float scales[2], zeros[2];
    uint given[TILES][PAIRS];
} FUNC(block);
#define IS_THERE(at, h, b) ((at)->k + PLACE_OF(h, b) * BLOCK < (at)->depth)

INLINED void FUNC(load_weights)(FUNC(block)* to, const FUNC(place)* at, const int h, const ulong policy) {
    #pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            to[b].pieces[i] = 0;
            if (IS_THERE(at, h, b)) LOAD_PIECE(to[b].pieces[i], at->weights[i] + PLACE_OF(h, b) * 64, policy);
        }
}

INLINED void FUNC(load_others)(FUNC(block)* to, WEIGHTS_PARAMETERS const FUNC(place)* at, const int h ARGS) {
    #pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            to[b].scales[i] = to[b].zeros[i] = 0;
#if COMPRESSED
            if (!IS_THERE(at, h, b)) continue;
            const int k = at->k + PLACE_OF(h, b) * BLOCK;
            to[b].scales[i] = SCALE_LOAD(scale, at->scales[i] + OF_GROUP(k, SCALE_PITCH_0));
#if HAS_ZERO_POINT
            to[b].zeros[i] = ZERO_POINT_LOAD(zero_point, at->zeros[i] + OF_GROUP(k, ZERO_POINT_PITCH_0));
#endif
#endif
        }
        #pragma unroll
        for (int t = 0; t < TILES; ++t) {
            #pragma unroll
            for (int p = 0; p < PAIRS; ++p) to[b].given[t][p] = 0;
            if (IS_THERE(at, h, b) && t * 8 < at->rows_left)
                FUNC(load_pairs)(to[b].given[t], at->row + t * 8 * (long)INPUT0_PITCH_Y + PLACE_OF(h, b) * BLOCK);
        }
    }
}

INLINED void FUNC(multiply)(float (*sums)[4], const FUNC(block)* blocks) {
    #pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
        uint pairs[2][PAIRS];
        #pragma unroll
        for (int i = 0; i < 2; ++i)
            FUNC(unpack)(pairs[i], blocks[b].pieces[i], blocks[b].scales[i], blocks[b].zeros[i]);
        #pragma unroll
        for (int p = 0; p < PAIRS; p += 2) {
            const uint both[4] = {pairs[0][p], pairs[1][p], pairs[0][p + 1], pairs[1][p + 1]};
            #pragma unroll
            for (int t = 0; t < TILES; ++t)
                MULTIPLY_ADD(sums[t], both, blocks[b].given[t][p], blocks[b].given[t][p + 1]);
        }
    }
}

__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
KERNEL(matmul_few)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                   WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local float4 found[2][WARPS][TILES][32];
    const int item = get_local_id(0), lane = item % 32, warp = item / 32, depth = INPUT0_SIZE_X;
    const int row_tiles = CEIL_DIV((int)OUTPUT0_SIZE_Y, ROWS);
    const int tiles = row_tiles * CEIL_DIV((int)OUTPUT0_SIZE_X, COLUMNS), last = (int)OUTPUT0_SIZE_X - 1;
    const int first_k = warp * TOGETHER * BLOCK + lane % 4 * PIECE;
    const ulong policy = LEAVES;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)0, at);
    const long first_weight = INPUT1_INDEX_OF(at) + first_k;
    const global half* first_half = (const global half*)left + INPUT0_INDEX_OF(at) + first_k;

    FUNC(place) place = {.depth = depth};
#define BEGIN_TILE(tile) do { \
        const int row_ = (tile) % row_tiles * ROWS + lane / 4; \
        _Pragma("unroll") for (int i_ = 0; i_ < 2; ++i_) { \
            const int column_ = min((tile) / row_tiles * COLUMNS + i_ * 8 + lane / 4, last); \
            place.weights[i_] = (const global uchar*)right + BYTES_OF(first_weight + (long)column_ * INPUT1_PITCH_X); \
            FIND_SCALES(i_, column_); \
        } \
        place.row = first_half + (long)row_ * INPUT0_PITCH_Y; \
        place.rows_left = (int)OUTPUT0_SIZE_Y - row_; \
        place.k = first_k; \
    } while (0)
#if COMPRESSED && HAS_ZERO_POINT
#define FIND_SCALES(i, column) \
    (place.scales[i] = SCALE_GET_INDEX(0, column), place.zeros[i] = ZERO_POINT_GET_INDEX(0, column))
#elif COMPRESSED
#define FIND_SCALES(i, column) (place.scales[i] = SCALE_GET_INDEX(0, column))
#else
#define FIND_SCALES(i, column)
#endif

    FUNC(block) first[BLOCKS], second[BLOCKS];
    int tile = get_group_id(0), turn = 0;
    BEGIN_TILE(tile);
    FUNC(load_weights)(first, &place, 0, policy);
    FUNC(load_weights)(second, &place, 1, policy);
    AWAIT_OTHERS(" 1");
    FUNC(load_others)(first, PASS_WEIGHTS &place, 0 PASS_ARGS);
    FUNC(load_others)(second, PASS_WEIGHTS &place, 1 PASS_ARGS);
    while (tile < tiles) {
        float sums[TILES][4];
        #pragma unroll
        for (int t = 0; t < TILES; ++t)
            #pragma unroll
            for (int m = 0; m < 4; ++m) sums[t][m] = 0;
        bool is_last;
        do {
            // Behind the last tile nothing is there.
            is_last = place.k - first_k + STEP >= depth;
            if (!is_last) {
                place.weights[0] += STEP / PIECE * 16;
                place.weights[1] += STEP / PIECE * 16;
                place.row += STEP;
                place.k += STEP;
            } else if (tile + ARG_GROUPS < tiles) {
                BEGIN_TILE(tile + ARG_GROUPS);
            } else {
                place.k = depth;
            }
            FUNC(multiply)(sums, first);
            FUNC(load_weights)(first, &place, 0, policy);
            FUNC(load_others)(first, PASS_WEIGHTS &place, 0 PASS_ARGS);
            FUNC(multiply)(sums, second);
            FUNC(load_weights)(second, &place, 1, policy);
            FUNC(load_others)(second, PASS_WEIGHTS &place, 1 PASS_ARGS);
        } while (!is_last);
        // Places of sums take turns, so that those of one tile are read while others are written.
        #pragma unroll
        for (int t = 0; t < TILES; ++t) found[turn][warp][t][lane] = vload4(0, sums[t]);
        barrier(CLK_LOCAL_MEM_FENCE);
        // What fused operations read may be what the kernel before is about to write.
        AWAIT_OTHERS(BOTH_SIDES);
        // A lane's sums are of columns lane / 4 and 8 more, the first of these for rows lane % 4 * 2 and the next.
        for (int m = item; m < ROWS * COLUMNS; m += ITEMS) {
            const int r = m / COLUMNS, c = m % COLUMNS;
            const int row = tile % row_tiles * ROWS + r, column = tile / row_tiles * COLUMNS + c;
            if (row >= OUTPUT0_SIZE_Y || column > last) continue;
            const local float* sum = (const local float*)&found[turn][0][r / 8][c % 8 * 4 + r % 8 / 2]
                + c / 8 * 2 + r % 2;
            float total = 0;
            #pragma unroll
            for (int w = 0; w < WARPS; ++w) total += sum[w * TILES * 32 * 4];
            at[OUTPUT0_RANK - 2] = row;
            at[OUTPUT0_RANK - 1] = column;
            ADD_BIAS(total, column);
            FUSED_OPS(total, at)
            OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), total);
        }
        turn ^= 1;
        tile += ARG_GROUPS;
    }
}
