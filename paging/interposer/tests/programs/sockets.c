/* Sockets, waits for them, and descriptors that change their kind. */
#include "check.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    char bytes[64] = "twelve bytes";
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(write(pair[0], bytes, 12) == 12 && read(pair[1], bytes, 64) == 12);
    CHECK(send(pair[0], bytes, 12, 0) == 12 && recv(pair[1], bytes, 64, 0) == 12);

    struct pollfd poll_for = {pair[1], POLLIN, 0};
    CHECK(poll(&poll_for, 1, 0) == 0);
    CHECK(poll(&poll_for, 1, 20) == 0);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pair[1], &set);
    struct timeval time = {0, 20000};
    CHECK(select(pair[1] + 1, &set, NULL, NULL, &time) == 0);
    int waiting = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.fd = pair[1]}};
    CHECK(waiting >= 0 && epoll_ctl(waiting, EPOLL_CTL_ADD, pair[1], &event) == 0);
    CHECK(epoll_wait(waiting, &event, 1, 20) == 0);

    /* The same number as a file, and as a socket again. */
    int was = pair[0];
    CHECK(close(pair[0]) == 0);
    int file = open("file", O_RDWR | O_CREAT, 0600);
    CHECK(file == was && write(file, bytes, 12) == 12 && pread(file, bytes, 12, 0) == 12);
    CHECK(dup2(pair[1], file) == file && read(file, bytes, 1) == 0);

    int server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    CHECK(server >= 0 && bind(server, (void *)&address, length) == 0 && listen(server, 1) == 0);
    CHECK(getsockname(server, (void *)&address, &length) == 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(client >= 0 && connect(client, (void *)&address, length) == 0);
    int served = accept(server, NULL, NULL);
    CHECK(served >= 0 && write(served, bytes, 12) == 12 && read(client, bytes, 64) == 12);
    return 0;
}
