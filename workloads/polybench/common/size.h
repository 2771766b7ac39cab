/* From the size that is asked for to the kernel's parameters. */
#ifndef FATHOMP_POLYBENCH_SIZE_H
#define FATHOMP_POLYBENCH_SIZE_H

#include "options.h"
#include "polybench.h"

/* Writes the parameters for the size that is asked for: a data set, or "4x" for
 * data of four times the last-level cache. Exits with 2 if it is neither. */
void size_parameters(const struct polybench_kernel *kernel, const struct program *program,
                     const struct request *request, int *n);

#endif
