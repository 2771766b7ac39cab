// fathomp: nodes refused calls fork
// fathomp: threads 2
// The forms of OMP_PLACES on the processors that there are.
#include "env/again.h"
#include <omp.h>

int main(int argc, char **argv)
{
    if (argc > 1) {
        int places = omp_get_num_places(), procs = 0;
        for (int p = 0; p < places; p++)
            procs += omp_get_place_num_procs(p);
        fprintf(stderr, "%d %d\n", places, procs);
        return 0;
    }
    static const struct {
        const char *places, *want;
    } forms[] = {
        {"OMP_PLACES={0}", "1 1\n"},         {"OMP_PLACES={0,1}", "1 2\n"},
        {"OMP_PLACES={0},{1}", "2 2\n"},     {"OMP_PLACES={0:2}", "1 2\n"},
        {"OMP_PLACES={0}:2", "2 2\n"},       {"OMP_PLACES={1}:2:-1", "2 2\n"},
        {"OMP_PLACES={0},{1},!{1}", "1 1\n"}, {"OMP_PLACES={0:2,!1}", "1 1\n"},
        {"OMP_PLACES=threads(1)", "1 1\n"},  {"OMP_PLACES= { 0 } , { 1 } ", "2 2\n"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *variables[] = {forms[i].places, NULL};
        CHECK_EQ(again(argv[0], "inner", variables), 0);
        if (strcmp(again_stderr, forms[i].want) != 0)
            printf("%s: %s", forms[i].places, again_stderr);
    }
    printf("ok\n");
    return check_result();
}
