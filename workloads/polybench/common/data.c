#include "data.h"

static size_t element_bytes(enum element element)
{
    switch (element) {
    case FLOAT:
        return sizeof(float);
    case INT:
        return sizeof(int);
    default:
        return sizeof(double);
    }
}

/* SIZE_MAX if there are more than can be counted. */
static size_t array_bytes(const struct polybench_array *array, const int *n)
{
    size_t bytes = element_bytes(array->element);
    for (int d = 0; d < array->rank; d++) {
        size_t extent = (size_t)n[array->extent[d]];
        if (bytes > SIZE_MAX / extent)
            return SIZE_MAX;
        bytes *= extent;
    }
    return bytes;
}

static size_t elements(const struct polybench_array *array, const int *n)
{
    return array_bytes(array, n) / element_bytes(array->element);
}

size_t data_bytes(const struct polybench_kernel *kernel, const int *n)
{
    size_t sum = 0;
    for (int a = 0; a < POLYBENCH_ARRAYS && kernel->array[a].rank > 0; a++) {
        size_t bytes = array_bytes(&kernel->array[a], n);
        if (bytes > SIZE_MAX - sum)
            return SIZE_MAX;
        sum += bytes;
    }
    return sum;
}

void data_allocate(const struct polybench_kernel *kernel, const int *n, void **array)
{
    for (int a = 0; a < POLYBENCH_ARRAYS && kernel->array[a].rank > 0; a++)
        array[a] = workload_allocate(array_bytes(&kernel->array[a], n));
}

/* A number in (0, 1] for every position of every array: SplitMix64's output
 * function (Steele, Lea, Flood, OOPSLA 2014) of a counter. */
static double noise(int stream, size_t position)
{
    uint64_t z = (((uint64_t)stream << 56) + position + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)((z >> 11) + 1) * 0x1p-53;
}

static void fill(enum element element, int stream, size_t count, void *data)
{
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        double value = noise(stream, i);
        switch (element) {
        case FLOAT:
            ((float *)data)[i] = (float)value;
            break;
        case INT:
            ((int *)data)[i] = (int)ceil(1000.0 * value);
            break;
        default:
            ((double *)data)[i] = value;
        }
    }
}

void data_initialise(const struct polybench_kernel *kernel, const int *n, void *const *array)
{
    for (int a = 0; a < POLYBENCH_ARRAYS && kernel->array[a].rank > 0; a++) {
        const struct polybench_array *of = &kernel->array[a];
        fill(of->element, a, elements(of, n), array[a]);
    }
    if (kernel->prepare != NULL)
        kernel->prepare(n, array);
}

static double value_at(enum element element, const void *data, size_t i)
{
    switch (element) {
    case FLOAT:
        return ((const float *)data)[i];
    case INT:
        return ((const int *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

double data_checksum(const struct polybench_kernel *kernel, const int *n, void *const *array)
{
    double sum = 0.0;
    for (int a = 0; a < POLYBENCH_ARRAYS && kernel->array[a].rank > 0; a++) {
        const struct polybench_array *of = &kernel->array[a];
        size_t count = of->output ? elements(of, n) : 0;
        /* Streams other than those of the initial values. */
        for (size_t i = 0; i < count; i++)
            sum += noise(POLYBENCH_ARRAYS + a, i) * value_at(of->element, array[a], i);
    }
    return sum;
}
