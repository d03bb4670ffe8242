// Matrix product of a few rows on NVIDIA's tensor cores: a left side of f16, weights of f16 or compressed ones of 8 or
// 4 bits (weights.h) whose k lie together, sums in float.
// Sides change places: 16 columns are the rows of the instructions' left matrix, ROWS rows (8 or a multiple) the
// columns of their right one. The warps of a group share the k of its 16 columns, in blocks of four pieces of 16 bytes,
// which are PIECE weights; half a step is BLOCKS blocks of each warp. Of a block, lane 4 * i + j has piece j of columns
// i and 8 + i, and of row i: that is another order of k than the instruction's, the same on both sides.
// Weights go from memory straight to registers: those of the next step's first half, perhaps of another tile, while the
// second half of this one is multiplied, and so on. They depend on no other kernel's work: in a megakernel the first
// are asked for before its groups have met.
// NORMALISED: the left side is made here, of data under its view (base/row_norm.py) whose rows have DEPTH elements.
// While weights are on their way, a group puts its rows into local memory, from which its warps multiply them.
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
#define NORMALISED 0
#define DEPTH 8
#define NORM_EPSILON 1e-5f
#endif

#include "shared/bias.h"
#include "weights.h"
#include "shared/tensor_cores.h"
#include "pieces.h"

#if NORMALISED
#define IF_NORMALISED(yes, no) yes
#define NORM_PARAMETER const global NORM_TYPE* restrict norm,
#define LEFT local
#else
#define IF_NORMALISED(yes, no) no
#define NORM_PARAMETER
#define LEFT global
#endif

// The numbers of the parameters that are read before what other kernels write: all but the left side.
#if COMPRESSED && HAS_ZERO_POINT
#define CONSTANTS IF_NORMALISED(" 1 2 3 4", " 1 2 3")
#elif COMPRESSED
#define CONSTANTS IF_NORMALISED(" 1 2 3", " 1 2")
#else
#define CONSTANTS IF_NORMALISED(" 1 2", " 1")
#endif
#define UNROLLED(i, count) _Pragma("unroll") for (int i = 0; i < (count); ++i)
#define COLUMNS 16
#define TILES (ROWS / 8)
#define BLOCK (4 * PIECE)

#ifdef __NV_CL_C_VERSION
#define TWO_FLOATS(pair) clinfer_unpack_halves(pair)
#define AWAIT_OTHERS(has_read) asm volatile("// awaits others, has read" has_read ::: "memory")
// 16 bytes, which are the first to leave the second-level cache.
#define LOAD_PIECE(piece, from, policy) \
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" \
        : "=r"((piece).x), "=r"((piece).y), "=r"((piece).z), "=r"((piece).w) : "l"((ulong)(from)), "l"(policy))
#else
#define TWO_FLOATS(pair) ((float2)(pair))
#define AWAIT_OTHERS(has_read)
#define LOAD_PIECE(piece, from, policy) ((piece) = *(const global uint4*)(from), (void)(policy))
#endif

// Halves of the left side, in the order of unpacked weights; those in local memory are in that order, in eights that
// lie EIGHT apart.
#define EIGHT (NORMALISED ? 32 : 8)
INLINED void FUNC(load_pairs)(uint* pairs, const LEFT half* from) {
    UNROLLED(i, PIECE / 8) {
        const uint4 eight = *(const LEFT uint4*)(from + i * EIGHT);
#if PIECE == 32 && !NORMALISED
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
#define PLACE_OF(b) ((b) / TOGETHER * TOGETHER * WARPS + (b) % TOGETHER)
#define STEP (2 * BLOCKS * WARPS * BLOCK)
// Sums that take turns, so that a product need not wait for the one before.
#define CHAINS (TILES > 1 ? 1 : 2)
#define BYTES_OF(index) (PIECE == 32 ? (index) / 2 : (index) * (16 / PIECE))
#if GROUP_SIZE
#define OF_GROUP(k, pitch) ((index_t)GROUP_OF(k) * (pitch))
#else
#define OF_GROUP(k, pitch) 0
#endif

// Where a lane's part of a step begins: in its two columns, their scales and zero points, and its row of the left side,
// of which so many are left; with k, of `depth`. The tile's first row and column.
typedef struct {
    const global uchar* weights[2];
    index_t scales[2], zeros[2];
    const global half* row;
    int rows_left, k, depth, first_row, first_column;
} FUNC(place);
// What a lane has of a block: its weights in both columns, their scales, which are halves, and zero points, and halves
// of its rows that are not in local memory.
typedef struct {
    uint4 pieces[2];
    ushort scales[2];
    float zeros[2];
#if !NORMALISED
    uint given[TILES][PAIRS];
#endif
} FUNC(block);
#define IS_THERE(at, b) ((at)->k + PLACE_OF(b) * BLOCK < (at)->depth)

// BLOCKS blocks, from the `first` one of a step on.
INLINED void FUNC(load_weights)(FUNC(block)* to, WEIGHTS_PARAMETERS const FUNC(place)* at, const int first,
                                const ulong policy ARGS) {
    UNROLLED(b, BLOCKS)
        UNROLLED(i, 2) {
            to[b].pieces[i] = 0;
            if (IS_THERE(at, first + b)) LOAD_PIECE(to[b].pieces[i], at->weights[i] + PLACE_OF(first + b) * 64, policy);
        }
    UNROLLED(b, BLOCKS)
        UNROLLED(i, 2) {
            to[b].scales[i] = 0;
            to[b].zeros[i] = 0;
#if COMPRESSED
            if (!IS_THERE(at, first + b)) continue;
            const int k = at->k + PLACE_OF(first + b) * BLOCK;
            to[b].scales[i] = ((const global ushort*)scale)[at->scales[i] + OF_GROUP(k, SCALE_PITCH_0)];
#if HAS_ZERO_POINT
            to[b].zeros[i] = ZERO_POINT_LOAD(zero_point, at->zeros[i] + OF_GROUP(k, ZERO_POINT_PITCH_0));
#endif
#endif
        }
}

#if NORMALISED
// Rows in local memory are filled up with zeros to whole steps, and begin in other banks. What the four lanes of a row
// read at once lies in other banks, too: the n-th eights of their pieces are side by side.
#define HELD (CEIL_DIV(DEPTH, STEP) * STEP)
#define HELD_PITCH (HELD + 32)
// What a work-item has of a row: every ITEMS-th piece of 8 halves, zeros behind the last one.
#define ROW_PIECES CEIL_DIV(HELD, ITEMS * 8)
#define FOR_ROW_PIECES UNROLLED(i, ROW_PIECES)
#define PIECE_AT ((i * ITEMS + (int)get_local_id(0)) * 8)
#define HELD_AT (PIECE_AT / BLOCK * BLOCK + PIECE_AT % PIECE * 4 + PIECE_AT % BLOCK / PIECE * 8)
INLINED void FUNC(load_row)(uint4* pieces, const global half* row) {
    FOR_ROW_PIECES pieces[i] = PIECE_AT < DEPTH ? *(const global uint4*)(row + PIECE_AT) : (uint4)0;
}
INLINED float8 FUNC(floats_of)(const uint4 piece) {
    return (float8)(TWO_FLOATS(piece.x), TWO_FLOATS(piece.y), TWO_FLOATS(piece.z), TWO_FLOATS(piece.w));
}
// Puts rows to `to`; `weights`: the work-item's pieces of them, `shared`: two numbers for each warp.
INLINED void FUNC(normalise)(local half* to, const global half* from, const int rows, const uint4* weights,
                             local float* shared ARGS) {
    uint4 pieces[ROW_PIECES];
    FUNC(load_row)(pieces, from);
    for (int r = 0; r < rows; ++r) {
        float8 row[ROW_PIECES];
        float sum = 0;
        FOR_ROW_PIECES {
            row[i] = FUNC(floats_of)(pieces[i]);
            sum += dot(row[i].lo, row[i].lo) + dot(row[i].hi, row[i].hi);
        }
        if (r + 1 < rows) FUNC(load_row)(pieces, from + (r + 1) * (long)INPUT0_PITCH_Y);
        #pragma unroll
        for (int step = 16; step > 0; step /= 2) sum += OF_LANE(sum, step);
        shared[r % 2 * WARPS + get_local_id(0) / 32] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum = 0;
        UNROLLED(w, WARPS) sum += shared[r % 2 * WARPS + w];
        const float scale = 1 / sqrt(sum / DEPTH + NORM_EPSILON);
        FOR_ROW_PIECES {
            float8 v = row[i] * scale * FUNC(floats_of)(weights[i]);
            if (PIECE == 32) v = v.s04152637;
            *(local uint4*)(to + r * HELD_PITCH + HELD_AT) = (uint4)(
                PACK_HALVES(v.s0, v.s1), PACK_HALVES(v.s2, v.s3), PACK_HALVES(v.s4, v.s5), PACK_HALVES(v.s6, v.s7));
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#define FIND_GIVEN(b, first) \
    uint given[1][PAIRS]; \
    FUNC(load_pairs)(given[0], row + PLACE_OF((first) + (b)) * BLOCK)
#define LOAD_GIVEN(to, first)
#define GIVEN_PARAMETERS , const local half* row, const int first
#define PASS_GIVEN(first) , held_row + k, first
#else
INLINED void FUNC(load_given)(FUNC(block)* to, const FUNC(place)* at, const int first ARGS) {
    UNROLLED(b, BLOCKS)
        UNROLLED(t, TILES) {
            UNROLLED(p, PAIRS) to[b].given[t][p] = 0;
            if (IS_THERE(at, first + b) && t * 8 < at->rows_left)
                FUNC(load_pairs)(to[b].given[t], at->row + t * 8 * (long)INPUT0_PITCH_Y + PLACE_OF(first + b) * BLOCK);
        }
}
#define FIND_GIVEN(b, first) const uint (*given)[PAIRS] = blocks[b].given
#define LOAD_GIVEN(to, first) FUNC(load_given)(to, &place, first PASS_ARGS)
#define GIVEN_PARAMETERS
#define PASS_GIVEN(first)
#endif

INLINED void FUNC(multiply)(float (*sums)[TILES][4], const FUNC(block)* blocks GIVEN_PARAMETERS) {
    UNROLLED(b, BLOCKS) {
        uint pairs[2][PAIRS];
        FIND_GIVEN(b, first);
        UNROLLED(i, 2)
            FUNC(unpack)(pairs[i], blocks[b].pieces[i], blocks[b].scales[i] * 0x10001u, blocks[b].zeros[i]);
        #pragma unroll
        for (int p = 0; p < PAIRS; p += 2) {
            const uint both[4] = {pairs[0][p], pairs[1][p], pairs[0][p + 1], pairs[1][p + 1]};
            UNROLLED(t, TILES)
                MULTIPLY_ADD(sums[p / 2 % CHAINS][t], both, given[t][p], given[t][p + 1]);
        }
    }
}

__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
KERNEL(matmul_few)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                   WEIGHTS_PARAMETERS NORM_PARAMETER BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local float4 found[2][WARPS][TILES][32];
#if NORMALISED
    local uint4 held[ROWS * HELD_PITCH / 8];
    local float shared[2 * WARPS];
    uint4 norm_weights[ROW_PIECES];
    const local half* held_row = (const local half*)held + get_local_id(0) % 32 / 4 * HELD_PITCH
                                 - (int)get_local_id(0) % 4 * (PIECE - 8);
    int normalised = -1;
#endif
    const int item = get_local_id(0), lane = item % 32, warp = item / 32, depth = INPUT0_SIZE_X;
    const int row_tiles = CEIL_DIV((int)OUTPUT0_SIZE_Y, ROWS);
    const int tiles = row_tiles * CEIL_DIV((int)OUTPUT0_SIZE_X, COLUMNS), last = (int)OUTPUT0_SIZE_X - 1;
    const int first_k = warp * TOGETHER * BLOCK + lane % 4 * PIECE;
    const ulong policy = LEAVES;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)0, at);
    const long first_weight = INPUT1_INDEX_OF(at) + first_k;
    const global half* first_row = (const global half*)left + INPUT0_INDEX_OF(at);

    FUNC(place) place = {.depth = depth};
    // Few rows are one tile of them: a division takes longer than the products of a block.
#define BEGIN_TILE(tile) do { \
        const int column_tile_ = row_tiles == 1 ? (tile) : (tile) / row_tiles; \
        place.first_row = ((tile) - column_tile_ * row_tiles) * ROWS; \
        place.first_column = column_tile_ * COLUMNS; \
        UNROLLED(i_, 2) { \
            const int column_ = min(place.first_column + i_ * 8 + lane / 4, last); \
            place.weights[i_] = (const global uchar*)right + BYTES_OF(first_weight + (long)column_ * INPUT1_PITCH_X); \
            FIND_SCALES(i_, column_); \
        } \
        place.row = first_row + (place.first_row + lane / 4) * (long)INPUT0_PITCH_Y + first_k; \
        place.rows_left = (int)OUTPUT0_SIZE_Y - place.first_row - lane / 4; \
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
#define LOAD_WEIGHTS(to, first) FUNC(load_weights)(to, PASS_WEIGHTS &place, first, policy PASS_ARGS)
    LOAD_WEIGHTS(first, 0);
    LOAD_WEIGHTS(second, BLOCKS);
#if NORMALISED
    FUNC(load_row)(norm_weights, (const global half*)norm);
#endif
    AWAIT_OTHERS(CONSTANTS);
    LOAD_GIVEN(first, 0);
    LOAD_GIVEN(second, BLOCKS);
    while (tile < tiles) {
#if NORMALISED
        if (place.first_row != normalised) {
            normalised = place.first_row;
            // What follows the last row is never stored.
            FUNC(normalise)((local half*)held, first_row + normalised * (long)INPUT0_PITCH_Y,
                            min(ROWS, (int)OUTPUT0_SIZE_Y - normalised), norm_weights, shared PASS_ARGS);
        }
#endif
        const int tile_row = place.first_row, tile_column = place.first_column;
        float sums[CHAINS][TILES][4];
        UNROLLED(c, CHAINS)
            UNROLLED(t, TILES)
                UNROLLED(m, 4) sums[c][t][m] = 0;
        bool is_last;
        do {
            const int k = place.k;
            // Behind the last tile nothing is there.
            is_last = k - first_k + STEP >= depth;
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
            FUNC(multiply)(sums, first PASS_GIVEN(0));
            LOAD_WEIGHTS(first, 0);
            LOAD_GIVEN(first, 0);
            FUNC(multiply)(sums, second PASS_GIVEN(BLOCKS));
            LOAD_WEIGHTS(second, BLOCKS);
            LOAD_GIVEN(second, BLOCKS);
        } while (!is_last);
        // Places of sums take turns, so that those of one tile are read while others are written.
        UNROLLED(t, TILES) {
            found[turn][warp][t][lane] = vload4(0, sums[0][t]);
            if (CHAINS == 2) found[turn][warp][t][lane] += vload4(0, sums[CHAINS - 1][t]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        // What fused operations read may be what the kernel before is about to write.
        AWAIT_OTHERS(" 0" CONSTANTS);
        // A lane's sums are of columns lane / 4 and 8 more, the first of these for rows lane % 4 * 2 and the next.
        for (int m = item; m < ROWS * COLUMNS; m += ITEMS) {
            const int r = m / COLUMNS, c = m % COLUMNS;
            const int row = tile_row + r, column = tile_column + c;
            if (row >= OUTPUT0_SIZE_Y || column > last) continue;
            const local float* sum = (const local float*)&found[turn][0][r / 8][c % 8 * 4 + r % 8 / 2]
                + c / 8 * 2 + r % 2;
            float total = 0;
            UNROLLED(w, WARPS) total += sum[w * TILES * 32 * 4];
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
