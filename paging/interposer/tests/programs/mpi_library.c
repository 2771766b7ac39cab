/* What stands for an MPI library: it keeps what it is given. Compiled with FAMILY, as the
   word by which such libraries name themselves. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

long given[13];

int MPI_Init(int *, char ***);
int PMPI_Init(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    return 0;
}
int MPI_Init(int *count, char ***arguments)
{
    return PMPI_Init(count, arguments);
}

int PMPI_Comm_rank(long world, int *rank);
int PMPI_Comm_rank(long world, int *rank)
{
    *rank = (int)world == 0x44000000 ? 3 : 99;
    return 0;
}

int PMPI_Get_library_version(char *, int *);
int PMPI_Get_library_version(char *text, int *length)
{
    *length = sprintf(text, "%s Version: 4", FAMILY);
    return 0;
}

/* As many arguments as the longest of all functions; and I/O inside. */
#define WORDS                                                                                 \
    long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,   \
        long l, long m
static int keep(WORDS)
{
    long all[13] = {a, b, c, d, e, f, g, h, i, j, k, l, m};
    memcpy(given, all, sizeof given);
    char byte;
    int file = open("/dev/zero", O_RDONLY);
    int got = read(file, &byte, 1);
    close(file);
    return got == 1 ? 5 : 6;
}
#define PASS a, b, c, d, e, f, g, h, i, j, k, l, m

int MPI_Get_accumulate(WORDS);
int MPI_Get_accumulate(WORDS)
{
    return keep(PASS);
}
/* One that profilers alone can reach. */
int PMPI_Allreduce(WORDS);
int PMPI_Allreduce(WORDS)
{
    return keep(PASS);
}
int mpi_send_(WORDS);
int mpi_send_(WORDS)
{
    return keep(PASS);
}
int mpi_send_f08_(WORDS);
int mpi_send_f08_(WORDS)
{
    return keep(PASS);
}
int MPI_File_write(WORDS);
int MPI_File_write(WORDS)
{
    return keep(PASS);
}
