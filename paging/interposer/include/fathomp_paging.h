/* What a program tells fathomp of itself, for `fathomp record --paging` (docs/paging.md).
   C and C++; nothing has to be linked. Where the program is not recorded, nothing happens:
   the functions behind these are found when the program is loaded by fathomp, or not at all.

   The macro FATHOMP_NO_PAGING makes all of it nothing. */
#ifndef FATHOMP_PAGING_H
#define FATHOMP_PAGING_H

#ifdef __GNUC__
#define FATHOMP_INLINE static __inline__ __attribute__((unused))
#else
#define FATHOMP_INLINE static inline
#endif

/* What a thread does. */
enum {
    FATHOMP_COMPUTE = 0,
    /* It reads, writes or waits for a file, a pipe or a terminal. */
    FATHOMP_IO = 1,
    /* It exchanges data with other threads or processes, or waits for them. */
    FATHOMP_COMMUNICATION = 2
};

#if defined(__GNUC__) && defined(__linux__) && !defined(FATHOMP_NO_PAGING)

#if defined(__x86_64__) && defined(__LP64__)
/* Through the table of addresses that the loader fills in, since linkers settle any other
   reference to what may be missing by themselves. */
#define FATHOMP_FIND(name, type)                                                              \
    type found_;                                                                              \
    __asm__(".weak " #name "\n\tmovq " #name "@GOTPCREL(%%rip), %0" : "=r"(found_))
#else
#define FATHOMP_FIND(name, type)                                                              \
    extern __typeof__(*(type)0) name __attribute__((weak));                                   \
    type found_ = name
#endif

/* Calls a function, if there is one of that name. */
#define FATHOMP_TELL(name, type, arguments)                                                   \
    do {                                                                                      \
        FATHOMP_FIND(name, type);                                                             \
        if (found_)                                                                           \
            found_ arguments;                                                                 \
    } while (0)

#else
#define FATHOMP_TELL(name, type, arguments) ((void)0)
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*fathomp_with_number)(int);
typedef void (*fathomp_with_text)(const char *);
typedef void (*fathomp_with_nothing)(void);

/* The calling thread does this from now on, until fathomp_leave. Calls may be nested: the
   innermost decides. */
FATHOMP_INLINE void fathomp_enter(int activity)
{
    (void)activity;
    FATHOMP_TELL(fathomp_paging_enter, fathomp_with_number, (activity));
}

/* The calling thread does again what it did before the last fathomp_enter. */
FATHOMP_INLINE void fathomp_leave(void)
{
    FATHOMP_TELL(fathomp_paging_leave, fathomp_with_nothing, ());
}

/* A phase of that name begins. */
FATHOMP_INLINE void fathomp_phase(const char *name)
{
    (void)name;
    FATHOMP_TELL(fathomp_paging_phase, fathomp_with_text, (name));
}

#ifdef __cplusplus
}
#endif

#undef FATHOMP_INLINE
#undef FATHOMP_TELL
#undef FATHOMP_FIND

#endif
