#include "tasks.h"
#include <stdio.h>

static const struct task_program *const made = &task_program;

static void print_data_set(int set)
{
    printf(" %s=%ld", made->parameter, made->set[set]);
}

int main(int argc, char **argv)
{
    const struct own_option options[OWN_OPTIONS] = {
        {"cutoff", made->cutoff, {NULL}, made->cutoff_initial, 0, made->cutoff_most},
    };
    const struct program program = {
        .name = made->name,
        .about = made->about,
        .option = options,
        .repeat = 1,
        .print_data_set = print_data_set,
    };
    struct request request = options_read(&program, argc, argv);
    int set = options_data_set(&request);
    if (set < 0)
        options_refuse(&program, "there is no size %s", request.size);
    long size = made->set[set], cutoff = request.value[0];
    if (request.describe) {
        workload_describe(made->name, request.size, made->bytes != NULL ? made->bytes(size) : 0);
        return 0;
    }

    printf("%s: %s=%ld, cutoff %ld\n", made->about, made->parameter, size, cutoff);
    workload_threads();
    double seconds = 0.0;
    for (long r = 0; r < request.repeat; r++) {
        if (made->prepare != NULL)
            made->prepare(size);
        double start = workload_seconds();
        made->run(size, cutoff);
        seconds += workload_seconds() - start;
    }
    return workload_finish(&(struct workload_result){
        .suite = "tasks",
        .name = made->name,
        .size = request.size,
        .iterations = request.repeat,
        .seconds = seconds,
        .checksum = made->checksum(size),
        .verdict = WORKLOAD_UNKNOWN,
    });
}
