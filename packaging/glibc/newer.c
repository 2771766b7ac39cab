/* Functions that are newer than the C library that packages need, for code that is linked into them. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HERE __attribute__((visibility("hidden")))

HERE pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

/* The unwinder of gcc 12 and later asks for it, if it was built beside glibc 2.35 or later. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
struct search {
    uintptr_t address;
    struct dl_find_object *found;
};

static int look(struct dl_phdr_info *module, size_t size, void *data) {
    struct search *search = data;
    uintptr_t begin = UINTPTR_MAX, end = 0, frames = 0;
    int inside = 0;
    (void)size;
    for (int at = 0; at < module->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[at];
        uintptr_t first = module->dlpi_addr + part->p_vaddr, last = first + part->p_memsz;
        if (part->p_type == PT_GNU_EH_FRAME)
            frames = first;
        if (part->p_type != PT_LOAD)
            continue;
        begin = first < begin ? first : begin;
        end = last > end ? last : end;
        inside |= search->address >= first && search->address < last;
    }
    if (!inside)
        return 0;
    search->found->dlfo_flags = 0;
    search->found->dlfo_map_start = (void *)begin;
    search->found->dlfo_map_end = (void *)end;
    search->found->dlfo_link_map = 0;
    search->found->dlfo_eh_frame = (void *)frames;
    return 1;
}

HERE int _dl_find_object(void *address, struct dl_find_object *found) {
    struct search search = {(uintptr_t)address, found};
    return dl_iterate_phdr(look, &search) && found->dlfo_eh_frame ? 0 : -1;
}
#endif
