/* From the size that is asked for to bytes of data. */
#ifndef FATHOMP_PATTERN_SIZE_H
#define FATHOMP_PATTERN_SIZE_H

#include "pattern.h"

/* Prints what --help says of a data set. */
void size_print_data_set(int set);

/* The bytes of a data set, of a multiple of the last-level cache, or the number
 * itself. Exits with 2 if it is no size. */
size_t size_bytes(const struct program *program, const struct request *request);

#endif
