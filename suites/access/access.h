/* Cost of memory accesses: what its rows share. */
#ifndef FATHOMP_ACCESS_H
#define FATHOMP_ACCESS_H

#include "bench.h"
#include <stddef.h>
#include <stdint.h>

#define NO_MEMORY "there is not enough memory"

/* `words` words of 1, on pages that the calling thread touched first; NULL if
 * all that were asked for would fill more than half of the machine. Huge pages are asked for, so that what is measured is
 * the caches and not the translation of addresses. */
uint64_t *ones(size_t words);

/* Working sets in bytes, two to an octave, from 4 KiB to 8 times what the
 * machine says its last cache holds. */
extern const struct parameter working_set;
extern const struct parameter read_set;
/* The same with fewer for a short run: one per level of the memory. */
extern const struct parameter stream_set;

#endif
