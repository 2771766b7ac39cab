/* Every way to get a child, and to end. The argument `leaf` only writes a word. */
#include "check.h"
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void ends_with(pid_t child, int wanted)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

static int in_clone(void *word)
{
    return write(1, word, 6) == 6 ? 8 : 1;
}

int main(int count, char **arguments)
{
    if (count > 1) {
        CHECK(write(1, "leaf\n", 5) == 5);
        return 0;
    }
    char *self = arguments[0];
    char *leaf[] = {self, "leaf", NULL};

    pid_t child = fork();
    if (child == 0) {
        CHECK(write(1, "child\n", 6) == 6);
        exit(3);
    }
    ends_with(child, 3);

    child = fork();
    if (child == 0)
        _exit(4);
    ends_with(child, 4);

    child = fork();
    if (child == 0) {
        execl("/no/such/program", "program", NULL);
        CHECK(errno == ENOENT);
        execl(self, self, "leaf", NULL);
        _exit(1);
    }
    ends_with(child, 0);

    /* Until it becomes another program, the child runs in our memory. */
    volatile int seen = 0;
    child = vfork();
    if (child == 0) {
        seen = 1;
        int null = open("/dev/null", O_WRONLY);
        close(null);
        execv(self, leaf);
        _exit(1);
    }
    CHECK(seen == 1);
    ends_with(child, 0);
    child = vfork();
    if (child == 0)
        _exit(6);
    ends_with(child, 6);

    CHECK(posix_spawn(&child, self, NULL, NULL, leaf, environ) == 0);
    ends_with(child, 0);

    char command[512];
    snprintf(command, sizeof command, "%s leaf", self);
    CHECK(system(command) == 0);
    FILE *pipe = popen(command, "r");
    char line[64];
    CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "leaf\n") == 0);
    CHECK(pclose(pipe) == 0);

    static char stack[1 << 16];
    child = clone(in_clone, stack + sizeof stack, SIGCHLD, "clone\n");
    ends_with(child, 8);

    /* A child of a child, whose parent ends first. */
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    child = fork();
    if (child == 0) {
        if (fork() == 0) {
            CHECK(write(ends[1], "g", 1) == 1);
            exit(0);
        }
        exit(0);
    }
    ends_with(child, 0);
    CHECK(close(ends[1]) == 0);
    CHECK(read(ends[0], line, 1) == 1);
    /* When it has ended, nobody writes any more. */
    CHECK(read(ends[0], line, 1) == 0);

    /* Without the interposer from here on. */
    char *nothing[] = {"PATH=/bin", NULL};
    execle(self, self, "leaf", NULL, nothing);
    return 1;
}
