/* The kernel's clocks, never the runtime's that is being judged. */
#ifndef FATHOMP_CLOCK_H
#define FATHOMP_CLOCK_H

double wall_ns(void);
double thread_cpu_ns(void); /* of the calling thread */
double team_cpu_ns(void);   /* of all threads of the process */

/* Smallest difference between two readings that differ. */
double clock_resolution_ns(void);
/* Cost of one reading: the fastest of many. */
double clock_cost_ns(void);
double cpu_clock_cost_ns(void);

/* Frequency of the time stamp counter; 0 if there is none that is constant. */
double tsc_hz(void);
/* Frequency of the core, from a chain of dependent additions; 0 where it is
 * not known that one takes a cycle. */
double core_hz(void);

#endif
