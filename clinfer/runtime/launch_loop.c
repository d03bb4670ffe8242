/* Launches kernels one behind the other, and changes launches: what clinfer.runtime.launches does, without Python's
   cost per launch. Needs no header of Python or OpenCL; built if the machine that installs clinfer has a compiler. */
#include <stddef.h>
#include <string.h>

#include "compilers.h"

/* Behind an inference what launches need is in no cache of the processor: it is asked for some launches ahead, pointer by
   pointer, while earlier ones are given to the driver. */
enum { BLOCKS_AHEAD = 9, POINTERS_AHEAD = 6, HANDLES_AHEAD = 3 };

typedef int (*enqueue_function)(void *queue, void *kernel, unsigned dims, const size_t *offset,
                                const size_t *global_size, const size_t *local_size, unsigned waits,
                                const void *events, void *event);
typedef int (*set_function)(void *kernel, unsigned index, size_t nbytes, const void *bytes);

typedef struct {
    size_t dims, global_size[3], local_size[3];
} work_size;

typedef struct {
    void *const *kernel;
    work_size work;
} launch;

/* A launch as a plan has it: the kernel by its number, and where its argument block is among all of them. */
typedef struct {
    size_t kernel, block, block_bytes;
    work_size work;
} planned_launch;

/* A table of stages, and the places of its words that were written: of more than `most` nobody knows which. */
typedef struct {
    unsigned char *bytes, *is_listed;
    unsigned *places;
    size_t most, count;
} stage_image;

/* Where in a table of stages something begins. */
typedef struct {
    stage_image *image;
    size_t place;
} stage_place;

/* What a kernel has as its argument block: `nbytes` of `room`, none if it is not known; and where it stands in tables of
   stages. */
typedef struct {
    void *const *kernel;
    size_t index, nbytes, room;
    const stage_place *places;
    size_t place_count;
    unsigned char block[];
} argument_block;

enum { LEFT_TO_PYTHON = 1 };

/* The first status that is not 0, with the number of the launch that gave it in *failed; else 0. */
EXPORT int clinfer_launch_each(enqueue_function enqueue, void *queue, const launch *launches, size_t count,
                               size_t *failed) {
    for (size_t i = 0; i < count; ++i) {
        const work_size *work = &launches[i].work;
        size_t axis = 0;
        if (i + POINTERS_AHEAD < count)
            ASK_AHEAD(launches[i + POINTERS_AHEAD].kernel);
        if (i + HANDLES_AHEAD < count)
            ASK_AHEAD(*launches[i + HANDLES_AHEAD].kernel);
        while (axis < work->dims && work->global_size[axis])
            ++axis;
        if (axis < work->dims)
            continue;
        const int status = enqueue(queue, *launches[i].kernel, (unsigned)work->dims, NULL, work->global_size,
                                   work->local_size[0] ? work->local_size : NULL, 0, NULL, NULL);
        if (status) {
            *failed = i;
            return status;
        }
    }
    return 0;
}

static void put(stage_image *to, size_t place, const unsigned char *bytes, size_t nbytes) {
    for (size_t i = 0; i < nbytes; ++i) {
        const size_t word = (place + i) / sizeof(unsigned);
        if (to->bytes[place + i] == bytes[i])
            continue;
        to->bytes[place + i] = bytes[i];
        if (to->count > to->most || to->is_listed[word])
            continue;
        if (to->count < to->most) {
            to->places[to->count] = (unsigned)word;
            to->is_listed[word] = 1;
        }
        ++to->count;
    }
}

/* How far an exchange is: the number of the launch that is next; how many are of another kernel than before; how many
   have another work size. */
typedef struct {
    size_t at, others, resized;
} progress;

static INLINED void ask_ahead(argument_block *const *kernels, const planned_launch *planned, size_t left) {
    if (BLOCKS_AHEAD < left) {
        const argument_block *block = kernels[planned[BLOCKS_AHEAD].kernel];
        ASK_AHEAD(block);
        ASK_AHEAD((const char *)block + CACHE_LINE);
    }
    if (POINTERS_AHEAD < left)
        ASK_AHEAD(kernels[planned[POINTERS_AHEAD].kernel]->kernel);
    if (HANDLES_AHEAD < left)
        ASK_AHEAD(*kernels[planned[HANDLES_AHEAD].kernel]->kernel);
}

/* Lets launches from number to->at on be the planned ones, with their argument blocks set; `resized` of each: whether
   its work size is another one. The first status that is not 0, LEFT_TO_PYTHON too, with the number of the launch in
   to->at. */
EXPORT int clinfer_exchange_each(set_function set, argument_block *const *kernels, const planned_launch *planned,
                                 const unsigned char *blocks, launch *launches, size_t count, progress *to,
                                 unsigned char *resized) {
    for (size_t i = to->at; i < count; ++i) {
        const planned_launch *next = &planned[i];
        argument_block *own = kernels[next->kernel];
        const unsigned char *block = blocks + next->block;
        const size_t nbytes = next->block_bytes;
        ask_ahead(kernels, next, count - i);
        if (nbytes && (own->nbytes != nbytes || memcmp(own->block, block, nbytes))) {
            int status = LEFT_TO_PYTHON;
            if (nbytes <= own->room) {
                own->nbytes = 0;
                status = set(*own->kernel, (unsigned)own->index, nbytes, block);
            }
            if (status) {
                to->at = i;
                return status;
            }
            memcpy(own->block, block, nbytes);
            own->nbytes = nbytes;
            for (size_t n = 0; n < own->place_count; ++n)
                put(own->places[n].image, own->places[n].place, block, nbytes);
        }
        resized[i] = memcmp(&launches[i].work, &next->work, sizeof(work_size)) != 0;
        to->resized += resized[i];
        to->others += launches[i].kernel != own->kernel;
        launches[i].kernel = own->kernel;
        launches[i].work = next->work;
    }
    return 0;
}

/* An argument of a kernel, by its index. */
typedef struct {
    void *const *kernel;
    size_t index;
} argument;

/* Sets arguments to the same bytes of a handle, until one is refused; how many were set. */
EXPORT size_t clinfer_set_each(set_function set, const argument *arguments, size_t count, const void *handle) {
    for (size_t i = 0; i < count; ++i)
        if (set(*arguments[i].kernel, (unsigned)arguments[i].index, sizeof(void *), handle))
            return i;
    return count;
}

/* An argument that takes turns: what it is from round 0 on, again and again. */
typedef struct {
    argument of;
    void *const *handles;
    size_t count;
} turn;

/* Rows that are copied in each round, in even ones between other memories than in odd ones; where they begin in round 0,
   and how much farther in each other one (a step back is what overflows to it). */
typedef struct {
    void *sources[2], *targets[2];
    size_t source, source_step, target, target_step, nbytes, rows, source_pitch, target_pitch;
} moving_copy;

typedef int (*copy_function)(void *queue, void *source, void *target, size_t source_offset, size_t target_offset,
                             size_t nbytes, unsigned waits, const void *events, void *event);
typedef int (*copy_rows_function)(void *queue, void *source, void *target, const size_t *source_origin,
                                  const size_t *target_origin, const size_t *region, size_t source_pitch,
                                  size_t source_slice, size_t target_pitch, size_t target_slice, unsigned waits,
                                  const void *events, void *event);

typedef struct {
    set_function set;
    enqueue_function enqueue;
    copy_function copy;
    copy_rows_function copy_rows;
    void *queue;
} round_calls;

/* What each round is: arguments that change, copies ahead of the launches, the launches, and copies behind them. */
typedef struct {
    const turn *turns;
    size_t turn_count;
    const moving_copy *copies;
    size_t ahead_count, copy_count;
    const launch *launches;
    size_t launch_count;
} rounds;

static int copy_each(const round_calls *calls, const moving_copy *copies, size_t count, size_t number) {
    int status = 0;
    for (size_t i = 0; i < count && !status; ++i) {
        const moving_copy *each = &copies[i];
        void *source = each->sources[number % 2], *target = each->targets[number % 2];
        const size_t from[3] = {each->source + number * each->source_step, 0, 0};
        const size_t to[3] = {each->target + number * each->target_step, 0, 0};
        const size_t region[3] = {each->nbytes, each->rows, 1};
        status = each->rows == 1
                     ? calls->copy(calls->queue, source, target, from[0], to[0], each->nbytes, 0, NULL, NULL)
                     : calls->copy_rows(calls->queue, source, target, from, to, region, each->source_pitch, 0,
                                        each->target_pitch, 0, 0, NULL, NULL);
    }
    return status;
}

/* Enqueues the rounds of these numbers. The first status that is not 0; *failed is the number of the launch that gave
   it, the count of launches where it was something else. */
EXPORT int clinfer_launch_rounds(const round_calls *calls, const rounds *each, size_t first, size_t last,
                                 size_t *failed) {
    for (size_t number = first; number < last; ++number) {
        int status = 0;
        *failed = each->launch_count;
        for (size_t i = 0; i < each->turn_count && !status; ++i) {
            const turn *next = &each->turns[i];
            status = calls->set(*next->of.kernel, (unsigned)next->of.index, sizeof(void *),
                                &next->handles[number % next->count]);
        }
        if (!status)
            status = copy_each(calls, each->copies, each->ahead_count, number);
        if (!status)
            status = clinfer_launch_each(calls->enqueue, calls->queue, each->launches, each->launch_count, failed);
        if (!status)
            status = copy_each(calls, each->copies + each->ahead_count, each->copy_count - each->ahead_count, number);
        if (status)
            return status;
    }
    return 0;
}

#if defined(_WIN32)
/* The linker asks for this name, that of a module of Python. */
EXPORT void *PyInit__launch_loop(void) { return NULL; }
#endif
