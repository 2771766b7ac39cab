/* Every way to read, write, open and name files by descriptors, once each. */
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void)
{
    char buffer[4096], more[512];
    struct iovec parts[2] = {{buffer, 1000}, {more, 100}};
    memset(buffer, 'x', sizeof buffer);
    memset(more, 'y', sizeof more);

    int file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0640);
    CHECK(file >= 0);
    struct stat facts;
    CHECK(fstat(file, &facts) == 0 && (facts.st_mode & 0777) == 0640);
    CHECK(write(file, buffer, 4096) == 4096);
    CHECK(pwrite(file, buffer, 100, 10000) == 100);
    CHECK(writev(file, parts, 2) == 1100);
    CHECK(pwritev(file, parts, 2, 20000) == 1100);
    CHECK(pwritev2(file, parts, 2, 30000, 0) == 1100);
    CHECK(lseek(file, 0, SEEK_SET) == 0);
    CHECK(read(file, buffer, 4096) == 4096);
    CHECK(pread(file, buffer, 100, 10000) == 100);
    CHECK(readv(file, parts, 2) == 1100);
    CHECK(preadv(file, parts, 2, 20000) == 1100);
    CHECK(preadv2(file, parts, 2, 30000, 0) == 1100);
    CHECK(fsync(file) == 0 && fdatasync(file) == 0);
    CHECK(ftruncate(file, 50000) == 0);
    CHECK(flock(file, LOCK_EX) == 0 && flock(file, LOCK_UN) == 0);

    int copy = openat(AT_FDCWD, "copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(copy >= 0);
    off_t at = 0;
    CHECK(sendfile(copy, file, &at, 1000) == 1000);
    at = 0;
    CHECK(copy_file_range(file, &at, copy, NULL, 1000, 0) == 1000);
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
    CHECK(pages != MAP_FAILED && msync(pages, 4096, MS_SYNC) == 0);
    CHECK(close(copy) == 0 && close(file) == 0);

    CHECK(rename("copy", "other") == 0);
    CHECK(link("other", "linked") == 0 && symlink("other", "symlinked") == 0);
    CHECK(mkdir("folder", 0700) == 0 && rmdir("folder") == 0);
    DIR *folder = opendir(".");
    CHECK(folder);
    int entries = 0;
    while (readdir(folder))
        entries++;
    CHECK(entries == 6);
    CHECK(closedir(folder) == 0);
    CHECK(unlink("other") == 0 && remove("linked") == 0 && unlinkat(AT_FDCWD, "symlinked", 0) == 0);

    /* Failures stay failures, and say why. */
    errno = 0;
    CHECK(read(-1, buffer, 1) == -1 && errno == EBADF);
    CHECK(open("no/such/file", O_RDONLY) == -1 && errno == ENOENT);
    CHECK(write(0, buffer, 1) == -1 && errno == EBADF);
    /* What succeeds leaves the error alone. */
    errno = 77;
    file = open("file", O_RDONLY);
    CHECK(file >= 0 && read(file, buffer, 10) == 10 && close(file) == 0 && errno == 77);
    return 0;
}
