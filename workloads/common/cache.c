#define _GNU_SOURCE
#include "cache.h"
#include <stdio.h>
#include <unistd.h>

/* Levels are numbered upwards, so the last index that is there is the last
 * level. Sizes are written like "32768K". */
static size_t from_sysfs(void)
{
    size_t bytes = 0;
    for (int index = 0; index < 16; index++) {
        char path[80];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            break;
        unsigned long kibibytes = 0;
        if (fscanf(file, "%luK", &kibibytes) == 1)
            bytes = (size_t)kibibytes << 10;
        fclose(file);
    }
    return bytes;
}

size_t cache_last_level_bytes(void)
{
    size_t bytes = from_sysfs();
#ifdef _SC_LEVEL3_CACHE_SIZE
    /* Without /sys, as in some containers, the processor itself is asked. */
    static const int levels[] = {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
                                 _SC_LEVEL2_CACHE_SIZE};
    for (size_t l = 0; bytes == 0 && l < sizeof levels / sizeof levels[0]; l++) {
        long size = sysconf(levels[l]);
        bytes = size > 0 ? (size_t)size : 0;
    }
#endif
    return bytes;
}
