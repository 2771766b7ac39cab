#include "data.h"
#include "polybench.h"
#include "size.h"
#include <stdio.h>

static const struct polybench_kernel *const kernel = &polybench_kernel;

static void print_data_set(int set)
{
    for (int p = 0; p < POLYBENCH_PARAMETERS && kernel->parameter[p] != NULL; p++)
        printf(" %s=%d", kernel->parameter[p], kernel->set[set][p]);
}

int main(int argc, char **argv)
{
    const struct program program = {
        .name = kernel->name,
        .about = kernel->about,
        .repeat = 1,
        .print_data_set = print_data_set,
    };
    struct request request = options_read(&program, argc, argv);
    int n[POLYBENCH_PARAMETERS];
    size_parameters(kernel, &program, &request, n);
    size_t bytes = data_bytes(kernel, n);
    if (request.describe) {
        workload_describe(kernel->name, request.size, bytes);
        return 0;
    }

    printf("%s:", kernel->about);
    for (int p = 0; p < POLYBENCH_PARAMETERS && kernel->parameter[p] != NULL; p++)
        printf(" %s=%d", kernel->parameter[p], n[p]);
    printf(", %.3f MB\n", 1e-6 * (double)bytes);

    static void *array[POLYBENCH_ARRAYS];
    data_allocate(kernel, n, array);
    workload_threads();
    double seconds = 0.0;
    for (long r = 0; r < request.repeat; r++) {
        data_initialise(kernel, n, array);
        double start = workload_seconds();
        kernel->run(n, array);
        seconds += workload_seconds() - start;
    }

    double checksum = data_checksum(kernel, n, array);
    return workload_finish(&(struct workload_result){
        .suite = "polybench",
        .name = kernel->name,
        .size = request.size,
        .iterations = request.repeat,
        .seconds = seconds,
        .operations = (double)request.repeat * kernel->operations(n),
        .unit = kernel->unit != NULL ? kernel->unit : "floating-point",
        .checksum = checksum,
        /* Right is what the serial program says; no kernel leaves the numbers. */
        .verdict = isfinite(checksum) ? WORKLOAD_UNKNOWN : WORKLOAD_WRONG,
    });
}
