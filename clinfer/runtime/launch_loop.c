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

#if defined(_WIN32)
/* The linker asks for this name, that of a module of Python. */
EXPORT void *PyInit__launch_loop(void) { return NULL; }
#endif
