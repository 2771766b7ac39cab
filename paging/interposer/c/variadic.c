/* The functions of the C library with any number of arguments, in front of which the interposer
   stands: each makes a list of them and goes on in the function that takes a list, or an
   array. Compiled where the library is linked (app/runtime/build). */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

/* Goes on in `next`, which takes a list after `last`. */
#define WITH_LIST(next, last, ...)                                                            \
    va_list list;                                                                             \
    va_start(list, last);                                                                     \
    int result = fathomp_paging_front_##next(__VA_ARGS__, list);                                     \
    va_end(list);                                                                             \
    return result

#define NARROW const char *format
#define WIDE const wchar_t *format

int fathomp_paging_front_vfprintf(FILE *, NARROW, va_list);
int fathomp_paging_front_vprintf(NARROW, va_list);
int fathomp_paging_front_vdprintf(int, NARROW, va_list);
int fathomp_paging_front___vfprintf_chk(FILE *, int, NARROW, va_list);
int fathomp_paging_front___vprintf_chk(int, NARROW, va_list);
int fathomp_paging_front___vdprintf_chk(int, int, NARROW, va_list);
int fathomp_paging_front_vfwprintf(FILE *, WIDE, va_list);
int fathomp_paging_front_vwprintf(WIDE, va_list);
int fathomp_paging_front___vfwprintf_chk(FILE *, int, WIDE, va_list);
int fathomp_paging_front___vwprintf_chk(int, WIDE, va_list);

int fathomp_paging_front_fprintf(FILE *file, NARROW, ...)
{
    WITH_LIST(vfprintf, format, file, format);
}

int fathomp_paging_front_printf(NARROW, ...)
{
    WITH_LIST(vprintf, format, format);
}

int fathomp_paging_front_dprintf(int file, NARROW, ...)
{
    WITH_LIST(vdprintf, format, file, format);
}

int fathomp_paging_front___fprintf_chk(FILE *file, int flag, NARROW, ...)
{
    WITH_LIST(__vfprintf_chk, format, file, flag, format);
}

int fathomp_paging_front___printf_chk(int flag, NARROW, ...)
{
    WITH_LIST(__vprintf_chk, format, flag, format);
}

int fathomp_paging_front___dprintf_chk(int file, int flag, NARROW, ...)
{
    WITH_LIST(__vdprintf_chk, format, file, flag, format);
}

int fathomp_paging_front_fwprintf(FILE *file, WIDE, ...)
{
    WITH_LIST(vfwprintf, format, file, format);
}

int fathomp_paging_front_wprintf(WIDE, ...)
{
    WITH_LIST(vwprintf, format, format);
}

int fathomp_paging_front___fwprintf_chk(FILE *file, int flag, WIDE, ...)
{
    WITH_LIST(__vfwprintf_chk, format, file, flag, format);
}

int fathomp_paging_front___wprintf_chk(int flag, WIDE, ...)
{
    WITH_LIST(__vwprintf_chk, format, flag, format);
}

/* Each edition of the standard has its own numbers. */
#define SCAN(edition)                                                                         \
    int fathomp_paging_front_##edition##vfscanf(FILE *, NARROW, va_list);                            \
    int fathomp_paging_front_##edition##vscanf(NARROW, va_list);                                     \
    int fathomp_paging_front_##edition##vfwscanf(FILE *, WIDE, va_list);                             \
    int fathomp_paging_front_##edition##vwscanf(WIDE, va_list);                                      \
    int fathomp_paging_front_##edition##fscanf(FILE *file, NARROW, ...)                              \
    {                                                                                         \
        WITH_LIST(edition##vfscanf, format, file, format);                                    \
    }                                                                                         \
    int fathomp_paging_front_##edition##scanf(NARROW, ...)                                           \
    {                                                                                         \
        WITH_LIST(edition##vscanf, format, format);                                           \
    }                                                                                         \
    int fathomp_paging_front_##edition##fwscanf(FILE *file, WIDE, ...)                               \
    {                                                                                         \
        WITH_LIST(edition##vfwscanf, format, file, format);                                   \
    }                                                                                         \
    int fathomp_paging_front_##edition##wscanf(WIDE, ...)                                            \
    {                                                                                         \
        WITH_LIST(edition##vwscanf, format, format);                                          \
    }

SCAN()
SCAN(__isoc99_)
SCAN(__isoc23_)

int fathomp_paging_front_execve(const char *, char *const *, char *const *);
int fathomp_paging_front_execv(const char *, char *const *);
int fathomp_paging_front_execvp(const char *, char *const *);

/* The arguments of a program, from `first` to a null pointer, as an array. The child of vfork
   may come here, so they lie on the stack. */
#define AS_ARRAY(array, list, first)                                                          \
    size_t count = 1;                                                                         \
    va_start(list, first);                                                                    \
    for (const char *one = first; one; one = va_arg(list, const char *))                      \
        count++;                                                                              \
    va_end(list);                                                                             \
    const char *array[count];                                                                 \
    va_start(list, first);                                                                    \
    const char *one = first;                                                                  \
    for (size_t at = 0; at < count; at++) {                                                   \
        array[at] = one;                                                                      \
        one = one ? va_arg(list, const char *) : one;                                         \
    }

int fathomp_paging_front_execl(const char *path, const char *argument, ...)
{
    va_list list;
    AS_ARRAY(array, list, argument);
    va_end(list);
    return fathomp_paging_front_execv(path, (char *const *)array);
}

int fathomp_paging_front_execlp(const char *file, const char *argument, ...)
{
    va_list list;
    AS_ARRAY(array, list, argument);
    va_end(list);
    return fathomp_paging_front_execvp(file, (char *const *)array);
}

int fathomp_paging_front_execle(const char *path, const char *argument, ...)
{
    va_list list;
    AS_ARRAY(array, list, argument);
    /* The null pointer that ends the arguments was taken, unless there were none. */
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return fathomp_paging_front_execve(path, (char *const *)array, environment);
}
