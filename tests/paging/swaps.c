/* Goes through more memory than it may have.
   swaps MIB PASSES */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 96) << 20;
    int passes = argc > 2 ? atoi(argv[2]) : 2;
    volatile unsigned char *memory = malloc(bytes);
    if (!memory)
        return 1;
    unsigned long sum = 0;
    for (int pass = 0; pass < passes; pass++)
        for (size_t at = 0; at < bytes; at += 4096) {
            memory[at] += (unsigned char)(at >> 12);
            sum += memory[at];
        }
    printf("sum %lu\n", sum);
    return 0;
}
