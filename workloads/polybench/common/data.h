/* A kernel's data: how much, where, with which values, and their checksum. */
#ifndef FATHOMP_POLYBENCH_DATA_H
#define FATHOMP_POLYBENCH_DATA_H

#include "polybench.h"

/* Bytes of all arrays for parameters `n`; SIZE_MAX if they cannot be counted. */
size_t data_bytes(const struct polybench_kernel *kernel, const int *n);

/* Memory for every array. `n` must have passed `data_bytes`. */
void data_allocate(const struct polybench_kernel *kernel, const int *n, void **array);

/* The initial values: pseudo-random numbers in (0, 1], integers in [1, 1000],
 * then what `prepare` makes of them. The same for any number of threads. */
void data_initialise(const struct polybench_kernel *kernel, const int *n, void *const *array);

/* Sum of all elements of all outputs, each times a pseudo-random weight of its
 * position; not finite if one of them is not. */
double data_checksum(const struct polybench_kernel *kernel, const int *n, void *const *array);

#endif
