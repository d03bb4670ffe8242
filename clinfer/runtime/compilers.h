// What compilers of C call by names of their own.
//   EXPORT              in front of a function that Python may call
//   INLINED             a function that is always compiled where it is called
//   ASK_AHEAD(address)  asks for what stands there, which may be in no cache of the processor, without waiting. GCC
//                       leaves out calls of functions that do nothing else, unless they are INLINED
//   CACHE_LINE          the bytes that come at once
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define INLINED __attribute__((always_inline)) inline
#define ASK_AHEAD(address) __builtin_prefetch(address)
#else
#define INLINED inline
#define ASK_AHEAD(address) ((void)(address))
#endif
enum { CACHE_LINE = 64 };
