/* Runs this program again with other variables and looks at what it says.
 * The inner run is told apart by its argument. */
#ifndef FATHOMP_AGAIN_H
#define FATHOMP_AGAIN_H

#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

/* The stream whose text is kept; standard error, unless the program says otherwise. */
#ifndef AGAIN_STREAM
#define AGAIN_STREAM 2
#endif

/* What the last inner run wrote there. */
static char again_stderr[65536];

/* Runs `self` with argument `mode` and NAME=VALUE pairs, ended by NULL, set.
 * Returns its exit code, or -1. */
static int again(const char *self, const char *mode, const char *const *variables)
{
    int pipes[2];
    if (pipe(pipes) != 0)
        return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], AGAIN_STREAM);
        close(pipes[0]);
        close(pipes[1]);
        for (; variables && *variables; variables++)
            putenv((char *)*variables);
        execl(self, self, mode, (char *)NULL);
        _exit(99);
    }
    close(pipes[1]);
    size_t length = 0;
    ssize_t n;
    while (length < sizeof again_stderr - 1 &&
           (n = read(pipes[0], again_stderr + length, sizeof again_stderr - 1 - length)) > 0)
        length += (size_t)n;
    again_stderr[length] = '\0';
    close(pipes[0]);
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Lines in `again_stderr`. */
static inline int again_lines(void)
{
    int lines = 0;
    for (const char *c = again_stderr; *c; c++)
        lines += *c == '\n';
    return lines;
}

#endif
