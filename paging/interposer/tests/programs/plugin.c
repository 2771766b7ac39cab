/* A library that reads. */
#include <fcntl.h>
#include <unistd.h>

long plugin(void);

long plugin(void)
{
    char bytes[100];
    int file = open("/dev/zero", O_RDONLY);
    long got = read(file, bytes, 100);
    close(file);
    return got;
}
