/* Known work that counts itself. */
#ifndef FATHOMP_DELAY_H
#define FATHOMP_DELAY_H

/* Work that the compiler cannot remove, `length` steps long. */
void delay(long length);

/* Calls of delay() so far, by all threads. Exact only where the caller is
 * synchronised with them: outside parallel regions. */
long delays(void);

/* Steps of delay() that take `ns` nanoseconds. */
long calibrate_delay(double ns);

#endif
