/* A program that speaks with its agent as the runtime does, and does what its arguments say,
   one after another:

   meet            ask for connections and take them
   exchange        say something on each connection and check what comes back
   first, others   do the next thing on the first host alone, on all others
   on I            do the next thing on host I alone (after meet)
   print, err TEXT write a line
   where           print at which addresses things lie
   cat             copy standard input to standard output
   report N TEXT   say that node N has failed
   nonsense        say what makes no sense
   child ...       do the rest in a child, and wait for it
   daemon          leave a process behind that sleeps, in a session of its own
   ignore          ignore signals that ask to stop
   spam N          write N lines
   exit N, kill N, sleep, pause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DOOR = 200, MOST = 4096 };
static int me = -1, wires, fds[MOST], mine[MOST], peer[MOST];
static char name[256];

static void die(const char *what) {
    fprintf(stderr, "host_program: %s: %s\n", what, strerror(errno));
    exit(99);
}

static int word(const unsigned char *at) { return at[0] | at[1] << 8; }

static void meet(void) {
    unsigned char packet[65536];
    uint32_t pid = getpid();
    packet[0] = 1;
    memcpy(packet + 1, &pid, 4);
    if (send(DOOR, packet, 5, 0) != 5) die("hello");
    for (int i = 0; i < wires; i++) close(fds[i]);
    wires = 0;
    for (;;) {
        char space[CMSG_SPACE(sizeof(int))];
        struct iovec part = {packet, sizeof packet};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
        ssize_t got = recvmsg(DOOR, &message, MSG_CMSG_CLOEXEC);
        if (got <= 0) die("no answer");
        if (packet[0] == 3) {
            me = word(packet + 1);
            const unsigned char *at = packet + 3;
            for (int i = 0; i < me; i++) at += 4 + word(at + 2);
            snprintf(name, sizeof name, "%.*s", word(at + 2), (const char *)at + 4);
        } else if (packet[0] == 4) {
            struct cmsghdr *with = CMSG_FIRSTHDR(&message);
            if (!with || wires == MOST) die("no descriptor");
            memcpy(&fds[wires], CMSG_DATA(with), sizeof(int));
            mine[wires] = word(packet + 1);
            peer[wires++] = word(packet + 3);
        } else if (packet[0] == 5) {
            return;
        } else {
            die("refused");
        }
    }
}

static void put(int fd, const void *from, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t put = send(fd, (const char *)from + done, size - done, MSG_NOSIGNAL);
        if (put > 0) done += put;
        else if (errno != EAGAIN) die("send");
        else poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
    }
}

static void get(int fd, void *to, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t got = recv(fd, (char *)to + done, size - done, 0);
        if (got > 0) done += got;
        else if (got == 0 || errno != EAGAIN) die("receive");
        else poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1);
    }
}

static void exchange(void) {
    enum { WORDS = 20000 };
    static int out[WORDS], in[WORDS];
    for (int i = 0; i < wires; i++) {
        if (!(fcntl(fds[i], F_GETFL) & O_NONBLOCK)) die("a connection that waits");
        for (int k = 0; k < WORDS; k++) out[k] = mine[i] * 1000 + peer[i] + k;
        put(fds[i], out, sizeof out);
    }
    for (int i = 0; i < wires; i++) {
        get(fds[i], in, sizeof in);
        for (int k = 0; k < WORDS; k++)
            if (in[k] != peer[i] * 1000 + mine[i] + k) die("a wrong word");
    }
    printf("host %d (%s): %d wires\n", me, name, wires);
}

static void where(char **argv) {
    extern char **environ;
    static int variable;
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    char here[4096];
    printf("%p %p %p %p %p %p %lu %s %d %s\n", (void *)&limit, (void *)&variable, (void *)argv[0],
           (void *)environ[0], malloc(100), (void *)printf, (unsigned long)limit.rlim_cur,
           getcwd(here, sizeof here), personality(0xffffffff) & ADDR_NO_RANDOMIZE, argv[0]);
}

int main(int argc, char **argv) {
    struct stat input;
    int first = fstat(0, &input) == 0 && S_ISFIFO(input.st_mode);
    for (int i = 1; i < argc; i++) {
        const char *what = argv[i];
#define IS(w) (strcmp(what, w) == 0)
        int skip = (IS("first") && !first) || (IS("others") && first) || (IS("on") && atoi(argv[i + 1]) != me);
        if (IS("on")) i++;
        if (skip) {
            what = argv[++i];
            if (IS("print") || IS("err") || IS("exit") || IS("kill") || IS("spam")) i++;
            if (IS("report")) i += 2;
        } else if (IS("first") || IS("others") || IS("on")) {
        } else if (IS("meet")) meet();
        else if (IS("exchange")) exchange();
        else if (IS("print")) puts(argv[++i]);
        else if (IS("err")) fprintf(stderr, "%s\n", argv[++i]);
        else if (IS("where")) where(argv);
        else if (IS("cat")) {
            char bytes[4096];
            for (ssize_t got; (got = read(0, bytes, sizeof bytes)) > 0;) fwrite(bytes, 1, got, stdout);
        } else if (IS("report")) {
            unsigned char packet[300] = {2};
            int node = atoi(argv[++i]), size = strlen(argv[++i]);
            memcpy(packet + 1, (unsigned char[]){node, 0, node, 0, 70, 0, 0, 0, size, 0}, 10);
            memcpy(packet + 11, argv[i], size);
            if (send(DOOR, packet, 11 + size, 0) < 0) die("report");
        } else if (IS("nonsense")) send(DOOR, "nonsense", 8, 0);
        else if (IS("child")) {
            fflush(stdout);
            pid_t child = fork();
            if (child) {
                int status;
                waitpid(child, &status, 0);
                exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
            }
        } else if (IS("daemon")) {
            fflush(stdout);
            if (fork() == 0) {
                setsid();
                signal(SIGTERM, SIG_IGN);
                if (fork() == 0) for (;;) pause();
                _exit(0);
            }
        } else if (IS("ignore")) {
            signal(SIGINT, SIG_IGN);
            signal(SIGTERM, SIG_IGN);
        } else if (IS("spam")) {
            int lines = atoi(argv[++i]);
            for (int k = 0; k < lines; k++) printf("%d a line of some length that says nothing\n", k);
        } else if (IS("exit")) exit(atoi(argv[++i]));
        else if (IS("kill")) {
            fflush(stdout);
            kill(getpid(), atoi(argv[++i]));
        } else if (IS("nap")) usleep(open("napped", O_CREAT | O_EXCL, 0600) >= 0 ? 600000 : 200000);
        else if (IS("sleep")) sleep(1000);
        else if (IS("pause")) {
            fflush(stdout);
            for (;;) pause();
        } else {
            fprintf(stderr, "host_program: %s?\n", what);
            return 98;
        }
        fflush(stdout);
    }
    return 0;
}
