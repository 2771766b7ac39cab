//! A program whose accesses are the same each time.

/// Phases in which each thread writes its own pages, and phases in which it reads
/// others'. What a node does for others is recorded when a thread of it goes on: so
/// nothing is asked of others in the end, when all but node 0 wait for work.
pub(crate) const PHASES: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <unistd.h>
static struct { volatile long word; char rest[4088]; } page[60] __attribute__((aligned(4096)));
static long sums[64][512] __attribute__((aligned(4096)));
int main(void)
{
    long sum = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int round = 0; round < 4; round++) {
            for (int i = me * 60 / all; i < (me + 1) * 60 / all; i++)
                for (int at = 0; at <= i; at++)
                    page[i].rest[at * 64] += i + round;
#pragma omp barrier
            for (int i = me; i < 60; i += 7)
                sums[me][round] += page[i].rest[0];
#pragma omp barrier
        }
    }
#pragma omp parallel
    if (omp_get_thread_num() == 0)
        for (int i = 0; i < omp_get_num_threads(); i++)
            sum += sums[i][3];
#pragma omp parallel
    {
    }
    usleep(300000);
    printf("%ld\n", sum);
    return 0;
}
"#;

/// Addresses of functions are looked up before the program begins: their table is
/// memory that all nodes would write otherwise, each when it gets there.
pub(crate) const FLAGS: [&str; 3] = ["-fopenmp", "-O1", "-Wl,-z,now"];
