/* What a program tells by itself, with the interposer or without. */
#include "check.h"
#include <fathomp_paging.h>
#include <unistd.h>

int main(void)
{
    fathomp_phase("set up");
    fathomp_enter(FATHOMP_COMMUNICATION);
    usleep(2000);
    fathomp_enter(FATHOMP_IO);
    usleep(2000);
    fathomp_leave();
    fathomp_leave();
    /* One too many, and none that there is. */
    fathomp_leave();
    fathomp_enter(99);
    fathomp_phase(NULL);
    fathomp_phase("solve");
    CHECK(write(1, "told\n", 5) == 5);
    return 0;
}
