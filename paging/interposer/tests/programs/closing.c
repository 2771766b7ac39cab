/* Closes all descriptors that it does not know, as daemons do, and goes on; then hides the
   file system from itself. */
#include "check.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    closefrom(3);
    for (int file = 3; file < 1024; file++)
        close(file);
    CHECK(close_range(3, ~0U, 0) == 0);
    int file = open("file", O_RDWR | O_CREAT, 0600);
    CHECK(file == 3);
    char bytes[10];
    for (int at = 0; at < 100; at++)
        CHECK(write(file, "ten bytes.", 10) == 10);
    CHECK(lseek(file, 0, SEEK_END) == 1000 && pread(file, bytes, 10, 990) == 10);
    CHECK(memcmp(bytes, "ten bytes.", 10) == 0);

    /* Where not even the live directory can be found, children run unrecorded. */
    if (chroot(".") == 0) {
        pid_t child = fork();
        if (child == 0) {
            CHECK(write(file, "ten bytes.", 10) == 10);
            _exit(0);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        CHECK(lseek(file, 0, SEEK_END) == 1010);
    }
    return 0;
}
