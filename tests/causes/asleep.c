/* Time that is no work of anybody's.
   all: each thread of a team sleeps; one: one of them; between: the program, outside
   regions; child: the program reads a pipe whose writer takes its time. */
#define _POSIX_C_SOURCE 200809L
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void rest(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "all";
    double sum = 0;
    if (strcmp(way, "all") == 0) {
#pragma omp parallel
        rest(300);
    } else if (strcmp(way, "one") == 0) {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 1)
            rest(300);
    } else if (strcmp(way, "between") == 0) {
        for (int i = 0; i < 3; i++) {
            rest(100);
#pragma omp parallel for reduction(+ : sum)
            for (int k = 0; k < 1000000; k++)
                sum += 1.0 / (k + 1);
        }
    } else {
        char line[64] = "";
        FILE *child = popen("sleep 0.3; echo 5", "r");
        if (child == NULL || fgets(line, sizeof line, child) == NULL)
            return 1;
        pclose(child);
#pragma omp parallel for reduction(+ : sum)
        for (int k = 0; k < 1000000; k++)
            sum += 1.0 / (k + line[0]);
    }
    printf("%.6f\n", sum);
    return 0;
}
