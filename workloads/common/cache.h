/* How large the machine's last-level cache is. */
#ifndef FATHOMP_CACHE_H
#define FATHOMP_CACHE_H

#include <stddef.h>

/* 0 if the machine does not tell. */
size_t cache_last_level_bytes(void);

#endif
