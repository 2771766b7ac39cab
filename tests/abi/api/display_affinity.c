// fathomp: nodes refused calls fork
// fathomp: threads 2
// omp_display_affinity writes a line to stdout or stderr, by its format.
#include "env/again.h"
#include <omp.h>

int main(int argc, char **argv)
{
    if (argc > 1) {
        dup2(2, 1);
        omp_display_affinity("outside %n of %N level %L");
        omp_set_affinity_format("default %n");
        omp_display_affinity(NULL);
#pragma omp parallel num_threads(2)
        omp_display_affinity("inside %n of %N level %L");
        return 0;
    }
    CHECK_EQ(again(argv[0], "inner", NULL), 0);
    CHECK(strstr(again_stderr, "outside 0 of 1 level 0\n") != NULL);
    CHECK(strstr(again_stderr, "default 0\n") != NULL);
    CHECK(strstr(again_stderr, "inside 0 of 2 level 1\n") != NULL);
    CHECK(strstr(again_stderr, "inside 1 of 2 level 1\n") != NULL);
    CHECK_EQ(again_lines(), 4);
    printf("ok\n");
    return check_result();
}
