/* The commands of suites/README.md: what rows there are, and measuring one. */
#define _GNU_SOURCE
#include "case.h"
#include "clock.h"
#include "delay.h"
#include "json.h"
#include "misses.h"
#include "sample.h"
#include <dlfcn.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long delay_length = 1;
int threads;
/* That the team's threads may run on, all together; 0 if the kernel does not
 * tell. */
static int processors;
long value[MAX_PARAMETERS];

#if defined(__clang__)
#define COMPILER __VERSION__
#define ENTRY_POINT "__kmpc_barrier"
#else
#define COMPILER "gcc " __VERSION__
#define ENTRY_POINT "GOMP_barrier"
#endif

/* The file that really answers this compiler's calls: a preload that did not
 * take effect must not pass for a measurement. */
static const char *runtime_path(void)
{
    Dl_info info;
    void *entry = dlsym(RTLD_DEFAULT, ENTRY_POINT);
    if (entry && dladdr(entry, &info) && info.dli_fname)
        return info.dli_fname;
    return "unknown";
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_quick_cases(const struct rows *rows, const struct row *row)
{
    (void)rows;
    static const long one[] = {1, 0};
    const struct parameter *const *p = row->parameters;
    for (const long *i = p[0] ? p[0]->quick : one; *i; i++)
        for (const long *k = p[0] && p[1] ? p[1]->quick : one; *k; k++) {
            char name[MAX_NAME];
            write_name(row, (long[]){*i, *k}, name);
            puts(name);
        }
}

static void print_row(const struct rows *rows, const struct row *row)
{
    char name[MAX_NAME];
    write_name(row, NULL, name);
    printf("{\"row\":");
    json_string(name);
    printf(",\"group\":\"%s\",\"file\":\"%s\",\"language\":\"%s\",\"measures\":\"%s\"",
           rows->group, file_name(rows->file), rows->language,
           row->reference ? "overhead" : "time");
    printf(",\"parameters\":[");
    for (int i = 0; i < parameter_count(row); i++) {
        const struct parameter *p = row->parameters[i];
        printf("%s{\"name\":\"%s\",\"symbol\":\"%s\",\"unit\":\"%s\"", i ? "," : "", p->name,
               p->symbol, p->unit);
        json_list("values", p->values);
        json_list("quick", p->quick);
        printf("}");
    }
    printf("]}\n");
}

/* Makes the case's settings and forms the team once. Returns why the case
 * cannot be measured, or NULL. */
static const char *settle(const struct test_case *test)
{
    memcpy(value, test->value, sizeof value);
    cpu_set_t all;
    CPU_ZERO(&all);
#pragma omp parallel
    {
        cpu_set_t mine;
        CPU_ZERO(&mine);
        sched_getaffinity(0, sizeof mine, &mine);
#pragma omp critical
        CPU_OR(&all, &all, &mine);
#pragma omp master
        threads = omp_get_num_threads();
    }
    processors = CPU_COUNT(&all);
    return test->row->prepare ? test->row->prepare() : NULL;
}

static long checked(const struct row *row)
{
    return row->check ? row->check() : 0;
}

static int probe(const struct test_case *test)
{
    char reason[64];
    const char *absent = settle(test);
    if (!absent) {
        long wrong = checked(test->row) + test->row->run(threads);
        snprintf(reason, sizeof reason, "it gave %ld wrong result(s)", wrong);
        absent = wrong ? reason : NULL;
    }
    char name[MAX_NAME];
    write_name(test->row, test->value, name);
    printf("{\"test\":");
    json_string(name);
    printf(",\"available\":%s", absent ? "false,\"reason\":" : "true");
    if (absent)
        json_string(absent);
    printf("}\n");
    return 0;
}

static void print_case(const struct test_case *test)
{
    const struct row *row = test->row;
    char name[MAX_NAME];
    write_name(row, test->value, name);
    printf("{\"test\":");
    json_string(name);
    write_name(row, NULL, name);
    printf(",\"row\":");
    json_string(name);
    printf(",\"group\":\"%s\",\"file\":\"%s\",\"parameters\":{", test->rows->group,
           file_name(test->rows->file));
    for (int i = 0; i < parameter_count(row); i++)
        printf("%s\"%s\":%ld", i ? "," : "", row->parameters[i]->name, test->value[i]);
    printf("},\"language\":\"%s\",\"compiler\":", test->rows->language);
    json_string(COMPILER);
    printf(",\"runtime\":");
    json_string(runtime_path());
    printf(",\"threads\":%d", threads);
    if (processors)
        printf(",\"processors\":%d", processors);
    if (row->bytes)
        printf(",\"bytes\":%.0f", row->bytes());
    if (row->accesses)
        printf(",\"accesses\":%.0f", row->accesses());
}

static void print_misses(const struct samples *reference, const struct samples *construct)
{
    if (misses_absent()) {
        printf(",\"reference_misses\":null,\"construct_misses\":null,\"misses_absent\":");
        json_string(misses_absent());
    } else {
        json_array("reference_misses", reference->misses, reference->count);
        json_array("construct_misses", construct->misses, construct->count);
    }
}

static int run(const struct test_case *test, struct plan plan)
{
    static struct samples reference, construct;
    const char *absent = settle(test);
    if (absent) {
        fprintf(stderr, "%s\n", absent);
        return 2;
    }
    open_misses();
    long wrong = checked(test->row);
    wrong += take_samples(test->row, plan, &reference, &construct);

    print_case(test);
    printf(",\"reps\":%ld,\"reference_reps\":%ld,\"wrong\":%ld", construct.reps, reference.reps,
           wrong);
    printf(",\"timer_resolution_ns\":%.1f,\"timer_cost_ns\":%.1f", clock_resolution_ns(),
           clock_cost_ns());
    json_array("reference_ns", reference.wall_ns, reference.count);
    json_array("construct_ns", construct.wall_ns, construct.count);
    json_array("reference_cpu_ns", reference.cpu_ns, reference.count);
    json_array("construct_cpu_ns", construct.cpu_ns, construct.count);
    json_array("reference_team_cpu_ns", reference.team_cpu_ns, reference.count);
    json_array("construct_team_cpu_ns", construct.team_cpu_ns, construct.count);
    print_misses(&reference, &construct);
    printf("}\n");
    return 0;
}

static void print_clock(void)
{
    printf("{\"clock\":\"CLOCK_MONOTONIC\",\"resolution_ns\":%.1f,\"cost_ns\":%.1f,"
           "\"cpu_clock_cost_ns\":%.1f",
           clock_resolution_ns(), clock_cost_ns(), cpu_clock_cost_ns());
    json_or_null("tsc_hz", tsc_hz());
    json_or_null("core_hz", core_hz());
    printf("}\n");
}

static double positive(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (*end != '\0' || !(number > 0.0 && number < 1e15)) {
        fprintf(stderr, "'%s' is not a positive number\n", text);
        exit(2);
    }
    return number;
}

static struct test_case named(const char *name)
{
    struct test_case found;
    if (!find_case(name, &found)) {
        fprintf(stderr, "no case is called '%s'; 'rows' names the rows\n", name);
        exit(2);
    }
    return found;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (argc == 2 && strcmp(command, "list") == 0) {
        each_row(print_quick_cases);
        return 0;
    }
    if (argc == 2 && strcmp(command, "rows") == 0) {
        each_row(print_row);
        return 0;
    }
    if (argc == 2 && strcmp(command, "clock") == 0) {
        print_clock();
        return 0;
    }
    if (argc == 3 && strcmp(command, "calibrate") == 0) {
        printf("%ld\n", calibrate_delay(positive(argv[2])));
        return 0;
    }
    if (argc == 3 && strcmp(command, "probe") == 0) {
        struct test_case test = named(argv[2]);
        return probe(&test);
    }
    if (argc == 7 && strcmp(command, "run") == 0) {
        struct test_case test = named(argv[2]);
        delay_length = (long)positive(argv[3]);
        double samples = positive(argv[5]);
        struct plan plan = {
            .target_ns = positive(argv[4]) * 1e3,
            .limit_ns = positive(argv[6]) * 1e6,
            .samples = samples < MAX_SAMPLES ? (long)(samples + 0.999) : MAX_SAMPLES,
        };
        return run(&test, plan);
    }
    fprintf(stderr, "usage: list | rows | clock | calibrate NS | probe CASE | "
                    "run CASE DELAY TARGET_US SAMPLES LIMIT_MS\n");
    return 2;
}
