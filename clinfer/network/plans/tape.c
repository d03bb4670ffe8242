/* Plans a segment by the tapes of its nodes (clinfer.symbolic.tape says what they are, and does the same in Python).
   Needs no header of Python; built if the machine that installs clinfer has a compiler. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../runtime/compilers.h"

enum op {
    ADD, SUBTRACT, MULTIPLY, FLOOR_DIVIDE, MODULO, AND, OR, XOR, SHIFT,
    LARGER, SMALLER, ABSOLUTE, NEGATE, INVERT,
    ADD_F, SUBTRACT_F, MULTIPLY_F, DIVIDE_F, LARGER_F, SMALLER_F, ABSOLUTE_F, NEGATE_F,
    TO_FLOAT, SINGLE, CEIL, FLOOR, BITS,
    EQUAL, LESS, NOT_MORE, EQUAL_F, LESS_F, NOT_MORE_F,
    ASK,
    NUMBER, LAUNCH, BYTES, INT32, INT64, SIZE
};

typedef union {
    int64_t i;
    double f;
} number;

typedef struct {
    uint16_t op, to, one, other;
} step;

/* How many times longer than estimated something takes at some sizes, which are in these registers: points of as many
   logarithms to base 2 and the ratio there. Without sizes: another function, which C does not know. */
typedef struct {
    const double *points;
    const uint32_t *sizes;
    size_t point_count, size_count;
} measured_ratio;

/* `asked`: what is known of the functions that it asks. `gives`: the first step behind what is computed; `is_computed`:
   whether the registers hold all that follows from what was given last, so that nodes that are given the same, as layers
   are, need no more than what comes then. */
typedef struct {
    const step *steps;
    const step *end;
    number *registers;
    const unsigned char *data;
    const measured_ratio *asked;
    const step *gives;
    size_t is_computed;
} tape;

/* Of a node: where the places of what it is given begin, and how many there are; where the numbers go that it gives;
   its first kernel; its tapes, and the one of them that held last. */
typedef struct {
    uint32_t given, given_count, made, kernel, tapes, tape_count, held, flags;
} node;
enum { IDLE = 1, HAS_KERNELS = 2 };

typedef struct {
    size_t kernel, block, block_bytes, dims, global_size[3], local_size[3];
} launch;

/* The largest of some numbers, of places that begin at `sizes`; 0 unless the number at `home`, if there is that place,
   is negative, and unless it is as `is_holder` says whether one of those of `held` is not. */
typedef struct {
    int64_t home;
    size_t sizes, size_count, held, held_count, is_holder;
} need;

typedef struct {
    int64_t *numbers;
    node *nodes;
    tape *tapes;
    const int32_t *places;
    int64_t *last; /* what nodes were given last, by the places of what they are given */
    uint32_t *starts; /* how many launches there are before each node */
    unsigned char *changed; /* of each node whether it is given something else than last */
    unsigned char *blocks;
    launch *launches;
    const need *needs;
    const int32_t *need_places;
    int64_t *found; /* what needs come to */
    size_t need_count;
    size_t node_count, launch_count, block_bytes;
    size_t node, tape, step; /* where it is */
    size_t begins; /* whether a plan is to be begun */
    size_t is_fresh; /* whether nothing was given before */
    size_t touched, touched_with_kernels; /* how many nodes are given something else than last */
    size_t asking, asked; /* the tape, and the function that it asks */
} state;

enum { DONE, NODE_NEEDED, ASKED, MISSED };

static const double FIRST_TOO_LARGE = 9223372036854775808.0;
static const int64_t LARGEST_EXACT = (int64_t)1 << 53;

#if defined(__GNUC__)
#define ADDED(a, b, to) __builtin_add_overflow(a, b, to)
#define SUBTRACTED(a, b, to) __builtin_sub_overflow(a, b, to)
#define MULTIPLIED(a, b, to) __builtin_mul_overflow(a, b, to)
#else
static int ADDED(int64_t a, int64_t b, int64_t *to) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return 1;
    *to = a + b;
    return 0;
}
static int SUBTRACTED(int64_t a, int64_t b, int64_t *to) {
    if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b)
        return 1;
    *to = a - b;
    return 0;
}
static int MULTIPLIED(int64_t a, int64_t b, int64_t *to) {
    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)
              : (b > 0 ? a < INT64_MIN / b : a != 0 && b < INT64_MAX / a))
        return 1;
    *to = a * b;
    return 0;
}
#endif

/* The nearest integer in the direction of `up`; whether there is none of 64 bits. */
static int rounded(double x, int up, int64_t *to) {
    if (!(x >= -FIRST_TOO_LARGE && x < FIRST_TOO_LARGE))
        return 1;
    const int64_t whole = (int64_t)x;
    const double left = x - (double)whole;
    *to = up ? whole + (left > 0) : whole - (left < 0);
    return 0;
}

/* The same numbers as in in_c.py and in clinfer.tuning.entry. */
enum { MOST_SIZES = 16 };
static const double REACH = 3;

/* What the nearest point tells, by doublings of sizes in all; the less, the farther it is. */
static double ratio_at(const measured_ratio *m, const number *r) {
    double here[MOST_SIZES], least = REACH, ratio = 1;
    for (size_t i = 0; i < m->size_count; ++i)
        here[i] = r[m->sizes[i]].i > 0 ? log2((double)r[m->sizes[i]].i) : -1;
    for (const double *p = m->points; p < m->points + m->point_count * (m->size_count + 1); p += m->size_count + 1) {
        const double told = p[m->size_count];
        double away = 0;
        for (size_t i = 0; i < m->size_count; ++i)
            away += fabs(p[i] - here[i]);
        if (away < least || (away == least && away < REACH && told < ratio)) {
            least = away;
            ratio = told;
        }
    }
    return pow(ratio, 1 - least / REACH);
}

#define MISS_IF(condition) \
    if (condition)         \
        return MISSED
#define GUARD(comparison)                       \
    if ((comparison) != (int)now->to)           \
        return MISSED;                          \
    break

static int follow(state *s, const node *n, tape *t) {
    number *r = t->registers;
    const step *now = t->steps + s->step;
    launch *to_launch = NULL;
    int64_t *told = s->numbers + n->made;
    size_t axis = 0;
    if (!s->step) {
        const size_t nbytes = n->given_count * sizeof(number);
        if (t->is_computed && !memcmp(r, s->last + n->given, nbytes))
            now = t->gives;
        else
            memcpy(r, s->last + n->given, nbytes);
        t->is_computed = 0;
    }
    for (; now < t->end; ++now) {
        number *to = &r[now->to];
        const number *a = &r[now->one], *b = &r[now->other];
        switch (now->op) {
        case ADD: MISS_IF(ADDED(a->i, b->i, &to->i)); break;
        case SUBTRACT: MISS_IF(SUBTRACTED(a->i, b->i, &to->i)); break;
        case MULTIPLY: MISS_IF(MULTIPLIED(a->i, b->i, &to->i)); break;
        case FLOOR_DIVIDE:
            MISS_IF(b->i == 0 || (b->i == -1 && a->i == INT64_MIN));
            to->i = a->i / b->i - (a->i % b->i != 0 && (a->i < 0) != (b->i < 0));
            break;
        case MODULO:
            MISS_IF(b->i == 0);
            to->i = b->i == -1 ? 0 : a->i % b->i;
            if (to->i != 0 && (a->i < 0) != (b->i < 0))
                to->i += b->i;
            break;
        case AND: to->i = a->i & b->i; break;
        case OR: to->i = a->i | b->i; break;
        case XOR: to->i = a->i ^ b->i; break;
        case SHIFT:
            MISS_IF(b->i < 0);
            to->i = a->i >> (b->i < 63 ? b->i : 63);
            break;
        case LARGER: to->i = b->i > a->i ? b->i : a->i; break;
        case SMALLER: to->i = b->i < a->i ? b->i : a->i; break;
        case ABSOLUTE:
            MISS_IF(a->i == INT64_MIN);
            to->i = a->i < 0 ? -a->i : a->i;
            break;
        case NEGATE:
            MISS_IF(a->i == INT64_MIN);
            to->i = -a->i;
            break;
        case INVERT: to->i = ~a->i; break;
        case ADD_F: to->f = a->f + b->f; break;
        case SUBTRACT_F: to->f = a->f - b->f; break;
        case MULTIPLY_F: to->f = a->f * b->f; break;
        case DIVIDE_F:
            MISS_IF(b->f == 0);
            to->f = a->f / b->f;
            break;
        case LARGER_F: to->f = b->f > a->f ? b->f : a->f; break;
        case SMALLER_F: to->f = b->f < a->f ? b->f : a->f; break;
        case ABSOLUTE_F: to->f = a->f < 0 ? -a->f : a->f; break;
        case NEGATE_F: to->f = -a->f; break;
        case TO_FLOAT:
            MISS_IF(a->i > LARGEST_EXACT || a->i < -LARGEST_EXACT);
            to->f = (double)a->i;
            break;
        case SINGLE: to->f = (double)(float)a->f; break;
        case BITS: {
            const float narrow = (float)a->f;
            int32_t bits;
            memcpy(&bits, &narrow, sizeof bits);
            to->i = bits;
            break;
        }
        case CEIL: MISS_IF(rounded(a->f, 1, &to->i)); break;
        case FLOOR: MISS_IF(rounded(a->f, 0, &to->i)); break;
        case EQUAL: GUARD(a->i == b->i);
        case LESS: GUARD(a->i < b->i);
        case NOT_MORE: GUARD(a->i <= b->i);
        case EQUAL_F: GUARD(a->f == b->f);
        case LESS_F: GUARD(a->f < b->f);
        case NOT_MORE_F: GUARD(a->f <= b->f);
        case ASK:
            if (t->asked && t->asked[now->one].size_count) {
                to->f = ratio_at(&t->asked[now->one], r);
                break;
            }
            s->step = (size_t)(now - t->steps) + 1;
            s->asked = now->one;
            return ASKED;
        case NUMBER: *told++ = a->i; break;
        case LAUNCH:
            to_launch = &s->launches[s->launch_count++];
            memset(to_launch, 0, sizeof(launch));
            to_launch->kernel = n->kernel + now->one;
            to_launch->dims = now->other;
            to_launch->block = s->block_bytes;
            axis = 0;
            break;
        case BYTES:
            memcpy(s->blocks + s->block_bytes, t->data + now->one, now->other);
            s->block_bytes += now->other;
            break;
        case INT32: {
            const int32_t narrow = (int32_t)a->i;
            MISS_IF(narrow != a->i);
            memcpy(s->blocks + s->block_bytes, &narrow, sizeof narrow);
            s->block_bytes += sizeof narrow;
            break;
        }
        case INT64:
            memcpy(s->blocks + s->block_bytes, &a->i, sizeof a->i);
            s->block_bytes += sizeof a->i;
            break;
        case SIZE:
            MISS_IF(a->i < 0 || b->i < 0 || (uint64_t)a->i > SIZE_MAX || (uint64_t)b->i > SIZE_MAX);
            to_launch->global_size[axis] = (size_t)a->i;
            to_launch->local_size[axis] = (size_t)b->i;
            if (++axis == to_launch->dims)
                to_launch->block_bytes = s->block_bytes - to_launch->block;
            break;
        default: return MISSED;
        }
    }
    t->is_computed = 1;
    return DONE;
}

/* Looks at what a node is given. */
static void enter(state *s, node *n) {
    unsigned char changed = s->is_fresh != 0;
    s->starts[s->node] = (uint32_t)s->launch_count;
    for (uint32_t i = n->given; i < n->given + n->given_count; ++i) {
        const int64_t given = s->numbers[s->places[i]];
        if (s->last[i] != given) {
            s->last[i] = given;
            changed = 1;
        }
    }
    s->changed[s->node] |= changed;
    s->touched += changed;
    s->touched_with_kernels += changed && n->flags & HAS_KERNELS;
}

/* Asks for the tape that is likely to hold for the next node, and for what says where that of the one behind it is: behind
   an inference they are in no cache of the processor. */
enum { LINES_AHEAD = 16 };
static INLINED void ask_ahead(const state *s) {
    if (s->node + 2 < s->node_count) {
        const node *n = &s->nodes[s->node + 2];
        ASK_AHEAD(&s->tapes[n->tapes + n->held]);
    }
    if (s->node + 1 < s->node_count && s->nodes[s->node + 1].tape_count) {
        const node *n = &s->nodes[s->node + 1];
        const tape *t = &s->tapes[n->tapes + n->held];
        const char *line = (const char *)t->registers;
        for (int i = 0; i < LINES_AHEAD && line < (const char *)t->end; ++i, line += CACHE_LINE)
            ASK_AHEAD(line);
    }
}

/* Goes back to the first node. */
static void begin(state *s) {
    s->node = s->tape = s->step = s->launch_count = s->block_bytes = 0;
    s->touched = s->touched_with_kernels = s->begins = 0;
    memset(s->changed, 0, s->node_count);
}

/* What needs come to. */
static void tell_needs(const state *s) {
    int64_t *found = s->found;
    for (const need *n = s->needs; n < s->needs + s->need_count; ++n, ++found) {
        size_t is_held = 0;
        *found = 0;
        if (n->home >= 0 && s->numbers[n->home] >= 0)
            continue;
        for (size_t i = n->held; i < n->held + n->held_count; ++i)
            is_held |= s->numbers[s->need_places[i]] >= 0;
        if (n->held_count && is_held != n->is_holder)
            continue;
        *found = INT64_MIN;
        for (size_t i = n->sizes; i < n->sizes + n->size_count; ++i)
            if (s->numbers[s->need_places[i]] > *found)
                *found = s->numbers[s->need_places[i]];
    }
}

/* Plans from s->node on until there is no node left (DONE, with what needs come to), no tape holds for one
   (NODE_NEEDED: then whoever asked gives what it gives, and goes on behind it) or a function is asked (ASKED: its
   answer goes to the registers). */
EXPORT int clinfer_plan(state *s) {
    if (s->begins)
        begin(s);
    for (; s->node < s->node_count; ++s->node) {
        node *n = &s->nodes[s->node];
        if (!s->step && !s->tape) {
            ask_ahead(s);
            enter(s, n);
        }
        const size_t launches = s->starts[s->node];
        for (; s->tape < n->tape_count; ++s->tape, s->step = 0) {
            const uint32_t order = (uint32_t)s->tape;
            const uint32_t number = order == 0 ? n->held : order <= n->held ? order - 1 : order;
            const int status = follow(s, n, &s->tapes[n->tapes + number]);
            if (status == DONE) {
                n->held = number;
                break;
            }
            if (status == ASKED) {
                s->asking = n->tapes + number;
                return ASKED;
            }
            if (s->launch_count > launches) {
                s->block_bytes = s->launches[launches].block;
                s->launch_count = launches;
            }
        }
        if (s->tape == n->tape_count && !(n->flags & IDLE))
            return NODE_NEEDED;
        s->tape = s->step = 0;
    }
    s->is_fresh = 0;
    tell_needs(s);
    return DONE;
}

/* Puts the numbers that a tape gives, which ends in front of its launches, for what is given; what comes of that. */
EXPORT int clinfer_numbers(tape *t, int64_t *given, uint32_t count, int64_t *numbers) {
    const node n = {.given_count = count};
    state s = {.numbers = numbers, .last = given};
    return follow(&s, &n, t);
}

#if defined(_WIN32)
/* The linker asks for this name, that of a module of Python. */
EXPORT void *PyInit__tape(void) { return NULL; }
#endif
