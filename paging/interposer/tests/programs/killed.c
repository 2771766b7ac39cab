/* Ends without a word. */
#include "check.h"
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    int file = open("/dev/zero", O_RDONLY);
    char byte;
    for (int at = 0; at < 10; at++)
        CHECK(read(file, &byte, 1) == 1);
    abort();
}
