#include "pattern.h"
#include "size.h"
#include <stdio.h>

static void print_settings(const struct request *request)
{
    for (int o = 0; o < OWN_OPTIONS && pattern.option[o].name != NULL; o++) {
        const struct own_option *option = &pattern.option[o];
        if (option->word[0] != NULL)
            printf(", %s %s", option->name, option->word[request->value[o]]);
        else
            printf(", %s %ld", option->name, request->value[o]);
    }
}

int main(int argc, char **argv)
{
    const struct program program = {
        .name = pattern.name,
        .about = pattern.about,
        .option = pattern.option,
        .repeat = 10,
        .more_sizes = "bytes",
        .print_data_set = size_print_data_set,
    };
    struct request request = options_read(&program, argc, argv);
    const struct pattern_plan plan = {
        .bytes = size_bytes(&program, &request),
        .repeat = request.repeat,
        .value = request.value,
    };
    size_t bytes = pattern.shape(&plan);
    if (request.describe) {
        workload_describe(pattern.name, request.size, bytes);
        return 0;
    }

    printf("%s: %.3f MB", pattern.about, 1e-6 * (double)bytes);
    print_settings(&request);
    printf("\n");

    workload_threads();
    pattern.prepare(&plan);
    double start = workload_seconds();
    for (long r = 0; r < plan.repeat; r++)
        pattern.run(&plan, r);
    double seconds = workload_seconds() - start;

    return workload_finish(&(struct workload_result){
        .suite = "patterns",
        .name = pattern.name,
        .size = request.size,
        .iterations = plan.repeat,
        .seconds = seconds,
        .operations = (double)plan.repeat * pattern.operations(&plan),
        .unit = pattern.unit,
        .checksum = NAN,
        .verdict = pattern.check(&plan) ? WORKLOAD_RIGHT : WORKLOAD_WRONG,
    });
}
