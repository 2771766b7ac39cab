// fathomp: libgomp has OpenACC, which our runtime names when a program calls it
// fathomp: nodes skipped the program forks
// A program that was linked with OpenACC's routines is loaded; a call of one names it and ends it.
#include "check.h"
#include <omp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void acc_init(int) __attribute__((weak));

int main(void)
{
    int ends[2];
    // So that the linker keeps the library.
    CHECK(omp_get_max_threads() > 0);
    if (!acc_init || pipe(ends) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        acc_init(2);
        _exit(99);
    }
    close(ends[1]);
    char said[500] = "";
    size_t length = 0;
    ssize_t more;
    while ((more = read(ends[0], said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)more;
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 1);
    CHECK(strstr(said, "called acc_init") != 0);
    printf("ok\n");
    return check_result();
}
