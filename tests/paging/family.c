/* Processes in all the ways in which they begin and end: threads, forks, programs executed,
   a child that outlives its parent, a child that is killed, one that leaves by _exit.
   family WAY */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 200 };

static void touch(void)
{
    volatile char *memory = malloc(PAGES * 4096);
    for (int page = 0; page < PAGES; page++)
        memory[page * 4096] = 1;
}

static void say(const char *word)
{
    if (write(1, word, strlen(word)) < 0)
        abort();
}

static void *thread(void *unused)
{
    touch();
    say("thread\n");
    return unused;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "threads")) {
        for (int i = 0; i < 20; i++) {
            pthread_t one;
            pthread_create(&one, 0, thread, 0);
            pthread_join(one, 0);
        }
    } else if (!strcmp(way, "exec")) {
        touch();
        execl("/proc/self/exe", "family", "executed", (char *)0);
    } else if (!strcmp(way, "executed")) {
        touch();
        say("executed\n");
    } else if (!strcmp(way, "outlives")) {
        if (fork() == 0) {
            setsid();
            /* Nobody waits for it, and its output is closed. */
            close(0), close(1), close(2);
            usleep(400 * 1000);
            touch();
            int file = open(argc > 2 ? argv[2] : "/dev/null", O_WRONLY | O_CREAT, 0600);
            if (write(file, "late", 4) != 4)
                abort();
            return 0;
        }
        say("parent\n");
    } else if (!strcmp(way, "killed")) {
        touch();
        for (int i = 0; i < 1000; i++)
            say("x");
        kill(getpid(), SIGKILL);
    } else if (!strcmp(way, "forks")) {
        for (int i = 0; i < 10; i++) {
            pid_t child = fork();
            if (child == 0) {
                touch();
                say("child\n");
                if (i % 3 == 0)
                    kill(getpid(), SIGKILL);
                _exit(0);
            }
            waitpid(child, 0, 0);
        }
    } else if (!strcmp(way, "busy")) {
        /* Some thousand changes of state. */
        int file = open("/dev/zero", O_RDONLY);
        char byte;
        for (int i = 0; i < 20000; i++)
            if (read(file, &byte, 1) != 1)
                abort();
        touch();
        say("busy\n");
    } else {
        fputs("family threads|exec|outlives FILE|killed|forks|busy\n", stderr);
        return 2;
    }
    return 0;
}
