/* Memory mapped from a file, over which buffers were made: it stays until the last of them is gone. That is when no
   command uses it any more, which a driver tells in a thread of its own, maybe long after Python let go of the buffer.
   Needs no header of Python or OpenCL; built if the machine that installs clinfer has a compiler. */
#include <stddef.h>

#if defined(_WIN32)
/* The linker asks for this name, that of a module of Python. There is nothing else here: files are read there. */
__declspec(dllexport) void *PyInit__mapped_file(void) { return NULL; }
#else
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct {
    void *address;
    size_t nbytes;
    atomic_size_t users;
} mapping;

typedef int (*set_callback_function)(void *buffer, void (*gone)(void *buffer, void *user_data), void *user_data);

/* The first bytes of a file, which may only be read, with one user; NULL if they cannot be mapped. */
mapping *clinfer_map_file(int file, size_t nbytes) {
    mapping *made = malloc(sizeof *made);
    if (!made)
        return NULL;
    made->address = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (made->address == MAP_FAILED) {
        free(made);
        return NULL;
    }
    made->nbytes = nbytes;
    atomic_init(&made->users, 1);
    return made;
}

void *clinfer_mapped_address(const mapping *mapped) { return mapped->address; }

/* One user less. */
void clinfer_let_go(mapping *mapped) {
    if (atomic_fetch_sub(&mapped->users, 1) == 1) {
        munmap(mapped->address, mapped->nbytes);
        free(mapped);
    }
}

static void buffer_gone(void *buffer, void *mapped) {
    (void)buffer;
    clinfer_let_go(mapped);
}

/* Make a buffer over the bytes a user, until it is gone; the status of `set_callback`, clSetMemObjectDestructorCallback. */
int clinfer_use(mapping *mapped, set_callback_function set_callback, void *buffer) {
    atomic_fetch_add(&mapped->users, 1);
    const int status = set_callback(buffer, buffer_gone, mapped);
    if (status)
        clinfer_let_go(mapped);
    return status;
}
#endif
