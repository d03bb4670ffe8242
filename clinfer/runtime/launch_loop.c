/* Launches kernels one behind the other: the loop of clinfer.runtime.launches, without Python's cost per launch.
   Needs no header of Python or OpenCL; built if the machine that installs clinfer has a compiler. */
#include <stddef.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef int (*enqueue_function)(void *queue, void *kernel, unsigned dims, const size_t *offset,
                                const size_t *global_size, const size_t *local_size, unsigned waits,
                                const void *events, void *event);

typedef struct {
    void *const *kernel;
    size_t dims, global_size[3], local_size[3];
} launch;

/* The first status that is not 0, with the number of the launch that gave it in *failed; else 0. */
EXPORT int clinfer_launch_each(enqueue_function enqueue, void *queue, const launch *launches, size_t count,
                               size_t *failed) {
    for (size_t i = 0; i < count; ++i) {
        const launch *next = &launches[i];
        size_t axis = 0;
        while (axis < next->dims && next->global_size[axis])
            ++axis;
        if (axis < next->dims)
            continue;
        const int status = enqueue(queue, *next->kernel, (unsigned)next->dims, NULL, next->global_size,
                                   next->local_size[0] ? next->local_size : NULL, 0, NULL, NULL);
        if (status) {
            *failed = i;
            return status;
        }
    }
    return 0;
}

#if defined(_WIN32)
/* The linker asks for this name, that of a module of Python. */
EXPORT void *PyInit__launch_loop(void) { return NULL; }
#endif
