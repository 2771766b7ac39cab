/* Cache misses of the initial thread, where the kernel lets them be counted. */
#ifndef FATHOMP_MISSES_H
#define FATHOMP_MISSES_H

/* Opens the counter. Afterwards `misses_absent` says why there is none. */
void open_misses(void);
/* NULL if misses are counted. */
const char *misses_absent(void);
/* Misses so far; 0 if they are not counted. */
double misses_now(void);

#endif
