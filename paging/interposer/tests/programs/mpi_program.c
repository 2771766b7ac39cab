/* Calls MPI's functions, whatever they mean. With an argument, the library of that name is
   loaded so that others do not see it. */
#include "check.h"
#include <dlfcn.h>

typedef int Function(long, long, long, long, long, long, long, long, long, long, long, long,
                     long);

int main(int count, char **arguments)
{
    void *library = dlopen(arguments[1], RTLD_NOW | (count > 2 ? RTLD_LOCAL : RTLD_GLOBAL));
    CHECK(library);
    long *given = dlsym(library, "given");
    CHECK(given);
    const char *names[] = {"MPI_Get_accumulate", "MPI_Allreduce", "mpi_send_", "mpi_send_f08_",
                           "MPI_File_write"};
    int (*init)(int *, char ***);
    /* By the name that a program would be linked to. */
    *(void **)&init = dlsym(RTLD_DEFAULT, "MPI_Init");
    CHECK(init && init(NULL, NULL) == 0);
    for (int at = 0; at < 5; at++) {
        Function *function;
        *(void **)&function = dlsym(RTLD_DEFAULT, names[at]);
        CHECK(function);
        CHECK(function(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -13) == 5);
        for (int word = 0; word < 12; word++)
            CHECK(given[word] == word + 1);
        CHECK(given[12] == -13);
    }
    /* One that the library does not have fails. */
    Function *missing;
    *(void **)&missing = dlsym(RTLD_DEFAULT, "MPI_Win_fence");
    CHECK(missing && missing(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) != 0);
    return 0;
}
