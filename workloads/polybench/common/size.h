/* From the size that is asked for to the kernel's parameters. */
#ifndef FATHOMP_POLYBENCH_SIZE_H
#define FATHOMP_POLYBENCH_SIZE_H

#include "polybench.h"

extern const char *const size_names[POLYBENCH_SETS];

/* Writes the parameters for `text`: the name of a data set, or "4x" for data
 * of four times `cache_bytes` (0: ask the machine). Returns NULL, or the end
 * of a sentence that says why `text` is no size. */
const char *size_parameters(const struct polybench_kernel *kernel, const char *text,
                            size_t cache_bytes, int *n);

#endif
