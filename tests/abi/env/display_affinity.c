// fathomp: nodes refused calls fork
// fathomp: threads 2
// OMP_DISPLAY_AFFINITY prints one line per thread of a new team, where the compiler's own
// runtime does.
#ifdef __clang__
#define AGAIN_STREAM 1
#endif
#include "env/again.h"
#include <omp.h>

int main(int argc, char **argv)
{
    if (argc > 1) {
#pragma omp parallel num_threads(3)
        CHECK_EQ(omp_get_num_threads(), 3);
        return check_result();
    }
    const char *variables[] = {"OMP_DISPLAY_AFFINITY=true", "OMP_AFFINITY_FORMAT=me %n of %N", NULL};
    CHECK_EQ(again(argv[0], "inner", variables), 0);
    for (int t = 0; t < 3; t++) {
        char line[50];
        snprintf(line, sizeof line, "me %d of 3\n", t);
        CHECK(strstr(again_stderr, line) != NULL);
    }
    CHECK_EQ(again_lines(), 3);
    printf("ok\n");
    return check_result();
}
