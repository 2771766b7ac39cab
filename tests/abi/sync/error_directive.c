// fathomp: clang 14 does not know the directive
// fathomp: nodes refused calls fork
// error at(execution): a warning goes on, an error ends the program.
#include "env/again.h"
#include <omp.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "warning") == 0) {
#pragma omp error at(execution) severity(warning) message("mind the gap")
        return 0;
    }
    if (argc > 1) {
#pragma omp error at(execution) severity(fatal) message("this is the end")
        return 0;
    }
    CHECK_EQ(again(argv[0], "warning", NULL), 0);
    CHECK(strstr(again_stderr, "mind the gap") != NULL);
    CHECK(again(argv[0], "error", NULL) != 0);
    CHECK(strstr(again_stderr, "this is the end") != NULL);
    printf("ok\n");
    return check_result();
}
