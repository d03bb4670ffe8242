// Matrix product of a few rows on NVIDIA's tensor cores: a left side of f16, weights of f16 or compressed ones of 8 or
// 4 bits (weights.h) whose k lie together, sums in float.
// Sides change places: 16 columns are the rows of the instructions' left matrix, ROWS rows (8 or a multiple) the
// columns of their right one. The warps of a group share the k of its 16 columns, in blocks of four pieces of 16 bytes,
// which are PIECE weights; UNROLL blocks of a warp are asked for before the first is multiplied, all from memory
// straight to registers. Of a block, lane 4 * i + j has piece j of columns i and 8 + i, and of row i: that is another
// order of k than the instruction's, the same on both sides.
// Compressed weights (IS_SIGNED: they may be negative) are put in the low bits of the half 1024, less their zero point
// and 1024, times their scale, each step rounded to halves, which differences of so few bits need not be.
// Views, all of one rank: left [..., M, K], right [..., K, N], output [..., M, N]; bias [N]. One product; pieces of
// both sides start at multiples of 16 bytes.
// Groups: tiles of rows of 16 columns, one behind the other.
#include "clinfer.cl"

#ifndef ROWS
#define ROWS 8
#define UNROLL 4
#define WARPS 8
#define PIECE 8
#define IS_SIGNED 0
#endif

#include "shared/bias.h"
#include "weights.h"
#include "shared/tensor_cores.h"

#define COLUMNS 16
#define TILES (ROWS / 8)
#define BLOCK (4 * PIECE)
#define PAIRS (PIECE / 2)
// Blocks that lie side by side are a warp's as far as that goes: 128 bytes of a column come at once.
#define TOGETHER (UNROLL > 1 ? 2 : 1)
#define BLOCK_OF(u) (((u) / TOGETHER * WARPS + warp) * TOGETHER + (u) % TOGETHER)

#ifdef __NV_CL_C_VERSION
// 16 bytes, which are the first to leave the second-level cache.
INLINED uint4 FUNC(load_weights)(const global uchar* from) {
    uint4 piece;
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(piece.x), "=r"(piece.y), "=r"(piece.z), "=r"(piece.w) : "l"((ulong)from), "l"(LEAVES));
    return piece;
}
INLINED uint FUNC(pick_bytes)(const uint low, const uint high, const uint which) {
    uint picked;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(low), "r"(high), "r"(which));
    return picked;
}
INLINED uint FUNC(scaled)(const uint pair, const uint zeros, const uint scales) {
    uint result;
    asm("{.reg .b32 whole_;\nsub.rn.f16x2 whole_, %1, %2;\nmul.rn.f16x2 %0, whole_, %3;}"
        : "=r"(result) : "r"(pair), "r"(zeros), "r"(scales));
    return result;
}
#else
INLINED uint4 FUNC(load_weights)(const global uchar* from) { return as_uint4(vload4(0, (const global int*)from)); }
INLINED uint FUNC(pick_bytes)(const uint low, const uint high, const uint which) { return low + high + which; }
INLINED uint FUNC(scaled)(const uint pair, const uint zeros, const uint scales) { return pair + zeros + scales; }
#endif

// The weights of a piece, and as many halves from global memory, as pairs of halves in the same order: of 4 bits
// element i goes with element i + 4 of each eight, else with the next.
INLINED void FUNC(unpack)(uint* pairs, const uint4 piece, const float scale, const float zero) {
    const uint words[4] = {piece.x, piece.y, piece.z, piece.w};
#if PIECE == 8
    for (int i = 0; i < 4; ++i) pairs[i] = words[i];
#else
    const uint scales = PACK_HALVES(scale, scale);
    const float off = 1024 + zero + (IS_SIGNED ? 1 << (128 / PIECE - 1) : 0);
    const uint zeros = PACK_HALVES(off, off);
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
#if PIECE == 16
        const uint word = words[i] ^ (IS_SIGNED ? 0x80808080 : 0);
        pairs[2 * i] = FUNC(scaled)(FUNC(pick_bytes)(word, 0x64646464, 0x4140), zeros, scales);
        pairs[2 * i + 1] = FUNC(scaled)(FUNC(pick_bytes)(word, 0x64646464, 0x4342), zeros, scales);
#else
        const uint word = words[i] ^ (IS_SIGNED ? 0x88888888 : 0);
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            pairs[4 * i + j] = FUNC(scaled)((word >> 4 * j & 0x000F000F) | 0x64006400, zeros, scales);
#endif
    }
#endif
}
INLINED void FUNC(load_pairs)(uint* pairs, const global half* from) {
    #pragma unroll
    for (int i = 0; i < PIECE / 8; ++i) {
        const uint4 eight = as_uint4(vload4(i, (const global int*)from));
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

__attribute__((reqd_work_group_size(WARPS * 32, 1, 1)))
KERNEL(matmul_few)(const global INPUT0_TYPE* restrict left, const global INPUT1_TYPE* restrict right,
                   WEIGHTS_PARAMETERS BIAS_PARAMETER global OUTPUT0_TYPE* restrict output ARGS) {
    local float4 shared[WARPS][TILES][32];
    const int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32;
    const int row_tiles = CEIL_DIV((int)OUTPUT0_SIZE_Y, ROWS), group = get_group_id(0);
    const int first_row = group % row_tiles * ROWS, first_column = group / row_tiles * COLUMNS;
    const int depth = INPUT0_SIZE_X, rows_left = (int)OUTPUT0_SIZE_Y - first_row - lane / 4;
    index_t at[MAX_RANK];
    OUTPUT0_UNRAVEL((index_t)0, at);
    const global half* rows = (const global half*)left + INPUT0_INDEX_OF(at)
        + (long)(first_row + lane / 4) * INPUT0_PITCH_Y;
    int columns[2];
    const global uchar* weights[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        columns[i] = min(first_column + i * 8 + lane / 4, (int)OUTPUT0_SIZE_X - 1);
        const long index = INPUT1_INDEX_OF(at) + (long)columns[i] * INPUT1_PITCH_X;
        weights[i] = (const global uchar*)right + (PIECE == 32 ? index / 2 : index * (16 / PIECE));
    }
    float sums[TILES][4];
    #pragma unroll
    for (int t = 0; t < TILES; ++t)
        #pragma unroll
        for (int n = 0; n < 4; ++n) sums[t][n] = 0;

    for (int first = 0; first < depth; first += WARPS * UNROLL * BLOCK) {
        uint4 pieces[UNROLL][2];
        uint given[UNROLL][TILES][PAIRS];
        float scales[UNROLL][2], zeros[UNROLL][2];
        #pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const int k = first + BLOCK_OF(u) * BLOCK + lane % 4 * PIECE;
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                pieces[u][i] = 0;
                scales[u][i] = zeros[u][i] = 0;
                if (k >= depth) continue;
                pieces[u][i] = FUNC(load_weights)(weights[i] + (long)(k / PIECE) * 16);
#if COMPRESSED
                scales[u][i] = SCALE_LOAD(scale, SCALE_GET_INDEX(GROUP_OF(k), columns[i]));
                zeros[u][i] = ZERO_POINT(GROUP_OF(k), columns[i]);
#endif
            }
            #pragma unroll
            for (int t = 0; t < TILES; ++t) {
                #pragma unroll
                for (int n = 0; n < PAIRS; ++n) given[u][t][n] = 0;
                if (k < depth && t * 8 < rows_left)
                    FUNC(load_pairs)(given[u][t], rows + (long)t * 8 * INPUT0_PITCH_Y + k);
            }
        }
        #pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            uint pairs[2][PAIRS];
            #pragma unroll
            for (int i = 0; i < 2; ++i) FUNC(unpack)(pairs[i], pieces[u][i], scales[u][i], zeros[u][i]);
            #pragma unroll
            for (int n = 0; n < PAIRS; n += 2) {
                const uint both[4] = {pairs[0][n], pairs[1][n], pairs[0][n + 1], pairs[1][n + 1]};
                #pragma unroll
                for (int t = 0; t < TILES; ++t) MULTIPLY_ADD(sums[t], both, given[u][t][n], given[u][t][n + 1]);
            }
        }
    }

    #pragma unroll
    for (int t = 0; t < TILES; ++t) shared[warp][t][lane] = vload4(0, sums[t]);
    barrier(CLK_LOCAL_MEM_FENCE);
    // A lane's sums are of columns lane / 4 and 8 more, the first of these for rows lane % 4 * 2 and the next.
    for (int n = get_local_id(0); n < ROWS * COLUMNS; n += WARPS * 32) {
        const int r = n / COLUMNS, c = n % COLUMNS, row = first_row + r, column = first_column + c;
        if (row >= OUTPUT0_SIZE_Y || column >= OUTPUT0_SIZE_X) continue;
        const local float* sum = (const local float*)&shared[0][r / 8][c % 8 * 4 + r % 8 / 2] + c / 8 * 2 + r % 2;
        float total = 0;
        #pragma unroll
        for (int w = 0; w < WARPS; ++w) total += sum[w * TILES * 32 * 4];
        at[OUTPUT0_RANK - 2] = row;
        at[OUTPUT0_RANK - 1] = column;
        ADD_BIAS(total, column);
        FUSED_OPS(total, at)
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), total);
    }
}
