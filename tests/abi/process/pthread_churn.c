// Hundreds of short-lived threads that each start a region: nothing may leak
// to the point where threads can no longer be made.
#include "check.h"
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

static void *work(void *arg)
{
    int members = 0;
#pragma omp parallel num_threads(3) reduction(+ : members)
    members++;
    CHECK_EQ(members, 3);
    return arg;
}

static int alive(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

int main(void)
{
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0) {
            CHECK(!"a thread could be made");
            break;
        }
        pthread_join(thread, NULL);
    }
    // Their team members must have gone too, or be kept in a bounded pool.
    for (int i = 0; i < 100 && alive() > 32; i++)
        usleep(20000);
    CHECK(alive() <= 32);
    printf("ok\n");
    return check_result();
}
