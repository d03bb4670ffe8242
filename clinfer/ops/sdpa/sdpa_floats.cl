// Attention of floats on x86 CPUs with AVX2: query [a, b, L, E], keys and values as sdpa_pack_keys_floats and
// sdpa_pack_values_floats pack them, and the output [a, b, L, V]; mask [a, b, L, S], sink [a, b, L, 1]. One work-item
// computes TILES tiles of 6 rows, walking the keys in spans of SPAN with a running maximum and sum per row: 16 keys, or
// 16 columns of a span's values, are multiplied by all tiles before the next ones come. Rows beyond L are computed from
// the last one and not written. GROUPS of b share one of the b of keys and values.
// Dimension 0: groups of tiles, 1: a times b.
#include "clinfer.cl"

#ifndef TILES
#define TILES 4
#define SPAN 128
#define DEPTH_STEPS 1
#define COLUMN_GROUPS 1
#define ARG_KEYS 16
#define SCRATCH1_GET_INDEX SCRATCH0_GET_INDEX
#define SCRATCH1_PITCH_2 SCRATCH0_PITCH_2
#endif

#include "extras.h"
#include "softmax.h"

// Products of strips of floats on x86 CPUs with AVX2: each tile of 6 rows x 16 columns grows by those of its own strip
// of 6 rows with one strip of 16 columns, tile after tile, so that the columns stay in the near cache.
//
// A strip of rows holds for each step of 16 values 6 rows x 16 values, one of columns 16 values x 16 columns; a tile's
// sums are 6 rows x 16 columns. ADD_STRIPS(frame, rows, columns, sums) is one block of assembly (see
// shared/float_products.h). It takes pointers to the first strip of rows, the columns and the first tile as such: of
// addresses within the frame a compiler does not know that the assembly writes there. The frame is a STRIP_FRAME:
//   STRIP_STEPS, STRIP_TILES     steps, and tiles, 1 at least
//   ROWS_SKIPPED, SUMS_SKIPPED   bytes between a strip of rows and the next one, and between tiles
//   BEGINS_WITH_SUMS             0: sums begin with 0
#define STRIP_ROWS 6
#define STRIP_COLUMNS 16
#define STRIP_DEPTH 16
#define TILE_FLOATS (STRIP_ROWS * STRIP_COLUMNS)
#define STRIP_STEPS 0
#define STRIP_TILES 1
#define ROWS_SKIPPED 2
#define SUMS_SKIPPED 3
#define BEGINS_WITH_SUMS 4
#define STRIP_FRAME(name) ulong name[8 + 4 * 16] __attribute__((aligned(64)))

#define TILE_ROWS 6
#define VECTOR_FLOATS 8
#include "shared/vector_tiles.h"

#define SAVE(n) "vmovups " VECTOR #n ", 64+32*" #n "(%[frame])\n"
#define RESTORE(n) "vmovups 64+32*" #n "(%[frame]), " VECTOR #n "\n"
#define CLEAR_SUM(n) "vxorps " VECTOR #n ", " VECTOR #n ", " VECTOR #n "\n"
#define FETCH_SUM(n) "vmovups 32*" #n "(%[sums]), " VECTOR #n "\n"
#define PUT_SUM(n) "vmovups " VECTOR #n ", 32*" #n "(%[sums])\n"
#define ADD_TO(columns, sum) "vfmadd231ps " columns ", " ROW_VALUE ", " VECTOR #sum "\n"
#define STRIP_ROW(k, row, first, second) \
    "vbroadcastss 4*" #k "+64*" #row "(%[rows]), " ROW_VALUE "\n" \
    ADD_TO(FIRST_COLUMNS, first) ADD_TO(OTHER_COLUMNS, second)
#define STRIP_PART(k) \
    "vmovups 64*" #k "(%[columns]), " FIRST_COLUMNS "\n vmovups 32+64*" #k "(%[columns]), " OTHER_COLUMNS "\n" \
    STRIP_ROW(k, 0, 0, 1) STRIP_ROW(k, 1, 2, 3) STRIP_ROW(k, 2, 4, 5) \
    STRIP_ROW(k, 3, 6, 7) STRIP_ROW(k, 4, 8, 9) STRIP_ROW(k, 5, 10, 11)
#define STRIP_STEP \
    STRIP_PART(0) STRIP_PART(1) STRIP_PART(2) STRIP_PART(3) STRIP_PART(4) STRIP_PART(5) STRIP_PART(6) STRIP_PART(7) \
    STRIP_PART(8) STRIP_PART(9) STRIP_PART(10) STRIP_PART(11) STRIP_PART(12) STRIP_PART(13) STRIP_PART(14) \
    STRIP_PART(15)

#define ADD_STRIPS(arguments, row_strips, column_strip, tile_sums) \
    do { \
        ulong rows_, columns_, sums_, steps_, tiles_; \
        __asm__ volatile( \
            TILE_REGISTERS(SAVE) \
            "movq %[first_rows], %[rows]\n movq %[first_sums], %[sums]\n movq 8(%[frame]), %[tiles]\n" \
            "1:\n cmpq $0, 32(%[frame])\n jne 2f\n" TILE_SUMS(CLEAR_SUM) "jmp 3f\n 2:\n" TILE_SUMS(FETCH_SUM) \
            "3:\n movq %[first_columns], %[columns]\n movq (%[frame]), %[steps]\n" \
            "4:\n" STRIP_STEP "addq $384, %[rows]\n addq $1024, %[columns]\n decq %[steps]\n jnz 4b\n" \
            TILE_SUMS(PUT_SUM) \
            "addq 16(%[frame]), %[rows]\n addq $384, %[sums]\n addq 24(%[frame]), %[sums]\n decq %[tiles]\n jnz 1b\n" \
            TILE_REGISTERS(RESTORE) \
            : [rows] "=&r"(rows_), [columns] "=&r"(columns_), [sums] "=&r"(sums_), [steps] "=&r"(steps_), \
              [tiles] "=&r"(tiles_) \
            : [frame] "r"(arguments), [first_rows] "r"(row_strips), [first_columns] "r"(column_strip), \
              [first_sums] "r"(tile_sums) \
            : "memory", "cc"); \
    } while (0)

#define ROWS (TILES * STRIP_ROWS)
#define SPAN_STEPS (SPAN / STRIP_DEPTH)

// Turns the first `seen` of a row's scores, of which each `steps` steps hold 16, into weights and the others into 0;
// returns the factor for what was summed with the weights of the spans before.
float FUNC(weigh_span)(float* scores, const int seen, const int steps, float* highest, float* sum) {
    for (int k = max(seen, 0); k < steps * STRIP_DEPTH; ++k)
        scores[k / STRIP_DEPTH * TILE_FLOATS + k % STRIP_DEPTH] = -INFINITY;
    float16 most = -INFINITY, total = 0.0f;
    for (int s = 0; s < steps; ++s) most = max(most, vload16(0, scores + s * TILE_FLOATS));
    const float top = max(*highest, FUNC(highest_of)(most));
    const float base = top == -INFINITY ? 0 : top;
    const float rescale = top == *highest ? 1.0f : exp(*highest - base);
    for (int s = 0; s < steps; ++s) {
        const float16 weight = FUNC(exp_of)(vload16(0, scores + s * TILE_FLOATS) - base);
        total += weight;
        vstore16(weight, 0, scores + s * TILE_FLOATS);
    }
    *highest = top;
    *sum = *sum * rescale + FUNC(sum_of)(total);
    return rescale;
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
KERNEL(sdpa_floats)(const global INPUT0_TYPE* restrict query, const global float* restrict packed_keys,
                    const global float* restrict packed_values, EXTRAS global OUTPUT0_TYPE* restrict output ARGS) {
    const int first_row = (int)get_global_id(0) * ROWS, last_row = (int)OUTPUT0_SIZE_2 - 1;
    const int b = (int)get_global_id(1) % OUTPUT0_SIZE_1, a = (int)get_global_id(1) / OUTPUT0_SIZE_1;
    const int tiles = min(TILES, (last_row - first_row) / STRIP_ROWS + 1), rows = tiles * STRIP_ROWS;
    const int keys = IS_CAUSAL ? min((int)ARG_KEYS, min(first_row + rows, last_row + 1)) : ARG_KEYS;
    const float scale = SCALE_OF_SCORES;
    const global float* own_keys = packed_keys + SCRATCH0_GET_INDEX(a, b / GROUPS, 0, 0);
    const global float* own_values = packed_values + SCRATCH1_GET_INDEX(a, b / GROUPS, 0, 0);
    float queries[TILES * DEPTH_STEPS * TILE_FLOATS] __attribute__((aligned(64)));
    float scores[TILES * SPAN_STEPS * TILE_FLOATS] __attribute__((aligned(64)));
    float results[TILES * COLUMN_GROUPS * TILE_FLOATS] __attribute__((aligned(64)));
    float highest[ROWS], sums[ROWS];
    for (int r = 0; r < rows; ++r) {
        const int row = min(first_row + r, last_row);
        float* to = queries + (r / STRIP_ROWS * DEPTH_STEPS * STRIP_ROWS + r % STRIP_ROWS) * STRIP_DEPTH;
        for (int e = 0; e < DEPTH_STEPS * STRIP_DEPTH; ++e)
            to[e / STRIP_DEPTH * TILE_FLOATS + e % STRIP_DEPTH] =
                e < INPUT0_SIZE_3 ? query[INPUT0_GET_INDEX(a, b, row, e)] * scale : 0;
        BEGIN_ROW(highest[r], sums[r], a, b, row);
    }
    for (int i = 0; i < tiles * COLUMN_GROUPS * STRIP_ROWS; ++i) vstore16((float16)0.0f, i, results);
    STRIP_FRAME(frame);
    frame[STRIP_TILES] = tiles;
    for (int first_key = 0; first_key < keys; first_key += SPAN) {
        const int count = min(SPAN, keys - first_key), steps = (count + STRIP_DEPTH - 1) / STRIP_DEPTH;
        frame[BEGINS_WITH_SUMS] = frame[ROWS_SKIPPED] = 0;
        frame[STRIP_STEPS] = DEPTH_STEPS;
        frame[SUMS_SKIPPED] = (SPAN_STEPS - 1) * TILE_FLOATS * sizeof(float);
        for (int s = 0; s < steps; ++s)
            ADD_STRIPS(frame, queries, own_keys + (first_key / STRIP_COLUMNS + s) * SCRATCH0_PITCH_2,
                       scores + s * TILE_FLOATS);
        for (int r = 0; r < rows; ++r) {
            const int row = min(first_row + r, last_row), tile = r / STRIP_ROWS;
            float* own = scores + (tile * SPAN_STEPS * STRIP_ROWS + r % STRIP_ROWS) * STRIP_DEPTH;
#if WITH_MASK
            for (int s = 0; s < steps; ++s)
                FUNC(mask_scores)(own + s * TILE_FLOATS, mask, INPUT3_GET_INDEX(a, b, row, first_key + s * STRIP_DEPTH),
                                  min(STRIP_DEPTH, count - s * STRIP_DEPTH) PASS_ARGS);
#endif
            const int seen = IS_CAUSAL ? min(count, row + 1 - first_key) : count;
            const float rescale = FUNC(weigh_span)(own, seen, steps, highest + r, sums + r);
            float* result = results + (tile * COLUMN_GROUPS * STRIP_ROWS + r % STRIP_ROWS) * STRIP_COLUMNS;
            for (int g = 0; g < COLUMN_GROUPS && rescale != 1.0f; ++g)
                vstore16(vload16(0, result + g * TILE_FLOATS) * rescale, 0, result + g * TILE_FLOATS);
        }
        frame[BEGINS_WITH_SUMS] = 1;
        frame[STRIP_STEPS] = steps;
        frame[ROWS_SKIPPED] = (SPAN_STEPS - steps) * TILE_FLOATS * sizeof(float);
        frame[SUMS_SKIPPED] = (COLUMN_GROUPS - 1) * TILE_FLOATS * sizeof(float);
        for (int g = 0; g < COLUMN_GROUPS; ++g)
            ADD_STRIPS(frame, scores, own_values + g * SCRATCH1_PITCH_2 + first_key * STRIP_COLUMNS,
                       results + g * TILE_FLOATS);
    }
    for (int r = 0; r < min(rows, last_row + 1 - first_row); ++r) {
        const float share = sums[r] > 0 ? 1 / sums[r] : 0;
        const float* own = results + (r / STRIP_ROWS * COLUMN_GROUPS * STRIP_ROWS + r % STRIP_ROWS) * STRIP_COLUMNS;
        const int to = OUTPUT0_GET_INDEX(a, b, first_row + r, 0);
        for (int v = 0; v < OUTPUT0_SIZE_3; v += 16) {
            const float16 result = vload16(0, own + v / 16 * TILE_FLOATS) * share;
            FUNC(store_columns)(output, to + v, result, OUTPUT0_SIZE_3 - v);
        }
    }
}
