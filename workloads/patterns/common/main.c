#include "options.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    struct request request = read_arguments(argc, argv);
    const struct pattern_plan *plan = &request.plan;
    size_t bytes = pattern.shape(plan);
    if (request.describe) {
        workload_describe(pattern.name, plan->size, bytes);
        return 0;
    }

    printf("%s: %.3f MB", pattern.about, 1e-6 * (double)bytes);
    for (int o = 0; o < PATTERN_OPTIONS && pattern.option[o].name != NULL; o++) {
        const struct pattern_option *option = &pattern.option[o];
        if (option->word[0] != NULL)
            printf(", %s %s", option->name, option->word[plan->value[o]]);
        else
            printf(", %s %ld", option->name, plan->value[o]);
    }
    printf("\n");

    workload_threads();
    pattern.prepare(plan);
    double start = workload_seconds();
    for (long r = 0; r < plan->repeat; r++)
        pattern.run(plan, r);
    double seconds = workload_seconds() - start;

    return workload_finish(&(struct workload_result){
        .suite = "patterns",
        .name = pattern.name,
        .size = plan->size,
        .iterations = plan->repeat,
        .seconds = seconds,
        .operations = (double)plan->repeat * pattern.operations(plan),
        .unit = pattern.unit,
        .checksum = NAN,
        .verdict = pattern.check(plan) ? WORKLOAD_RIGHT : WORKLOAD_WRONG,
    });
}
