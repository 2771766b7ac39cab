/* Notes what each parallel region is begun with: loaded before the OpenMP runtime.
 *
 * One line of text for each of the first calls with the same function:
 *   region FUNCTION DATA BYTES...      addresses as loaded, bytes in hexadecimal
 * the writable memory of the program for a few of them:
 *   memory ADDRESS BYTES...
 * where the program is loaded, and at the end how often each function was begun:
 *   loaded BIAS
 *   times FUNCTION COUNT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUNCTIONS = 1024, NOTED = 64, WITH_MEMORY = 2, BLOCK = 512, MEMORY = 1 << 18 };

static struct {
    void *function;
    unsigned long times;
} known[FUNCTIONS];
static int functions;
static FILE *notes;

static void bytes(const unsigned char *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(notes, "%02x", from[i]);
    fputc('\n', notes);
}

/* Visits the program, which comes first, only. */
static int program(struct dl_phdr_info *info, size_t size, void *memory)
{
    (void)size;
    if (!memory) {
        fprintf(notes, "loaded %#lx\n", (unsigned long)info->dlpi_addr);
        return 1;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
            continue;
        unsigned long address = info->dlpi_addr + part->p_vaddr;
        size_t count = part->p_memsz < MEMORY ? part->p_memsz : MEMORY;
        fprintf(notes, "memory %#lx ", address);
        bytes((const unsigned char *)address, count);
    }
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(NOTES_VARIABLE);
    notes = path ? fopen(path, "w") : NULL;
    if (notes)
        dl_iterate_phdr(program, NULL);
}

__attribute__((destructor)) static void end(void)
{
    if (!notes)
        return;
    for (int i = 0; i < functions; i++)
        fprintf(notes, "times %p %lu\n", known[i].function, known[i].times);
    fclose(notes);
    notes = NULL;
}

/* How many bytes may be read from `data`: no more than are left of its page, and one
 * page more if it lies on the stack above this frame. */
static size_t readable(const void *data)
{
    unsigned long from = (unsigned long)data, here = (unsigned long)__builtin_frame_address(0);
    size_t rest = 4096 - from % 4096;
    if (from > here && from - here < 1 << 16)
        return BLOCK;
    return rest < BLOCK ? rest : BLOCK;
}

static void note(void *function, void *data)
{
    if (!notes)
        return;
    int i = 0;
    while (i < functions && known[i].function != function)
        i++;
    if (i == FUNCTIONS)
        return;
    if (i == functions)
        known[functions++].function = function;
    unsigned long times = known[i].times++;
    if (times >= NOTED)
        return;
    if (times < WITH_MEMORY)
        dl_iterate_phdr(program, notes);
    fprintf(notes, "region %p %p ", function, data);
    bytes(data, data ? readable(data) : 0);
}

typedef void body(void *);

#define NEXT(name) \
    static __typeof__(name) *next; \
    if (!next) \
        next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
    note((void *)function, data)

void GOMP_parallel(body *function, void *data, unsigned threads, unsigned flags)
{
    NEXT(GOMP_parallel);
    next(function, data, threads, flags);
}

void GOMP_parallel_sections(body *function, void *data, unsigned threads, unsigned count,
                            unsigned flags)
{
    NEXT(GOMP_parallel_sections);
    next(function, data, threads, count, flags);
}

#define LOOP(name) \
    void name(body *function, void *data, unsigned threads, long start, long end, long step, \
              long chunk, unsigned flags) \
    { \
        NEXT(name); \
        next(function, data, threads, start, end, step, chunk, flags); \
    }
LOOP(GOMP_parallel_loop_static)
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_guided)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define LOOP_RUNTIME(name) \
    void name(body *function, void *data, unsigned threads, long start, long end, long step, \
              unsigned flags) \
    { \
        NEXT(name); \
        next(function, data, threads, start, end, step, flags); \
    }
LOOP_RUNTIME(GOMP_parallel_loop_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
