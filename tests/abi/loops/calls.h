/* Loop entry points by name, for programs that call them as gcc does, and
 * also with schedules and bounds that gcc never asks for. */
#ifndef FATHOMP_LOOP_CALLS_H
#define FATHOMP_LOOP_CALLS_H

#include <stdbool.h>
#include <stdint.h>

typedef unsigned long long ull;

extern bool GOMP_loop_static_start(long, long, long, long, long *, long *);
extern bool GOMP_loop_dynamic_start(long, long, long, long, long *, long *);
extern bool GOMP_loop_guided_start(long, long, long, long, long *, long *);
extern bool GOMP_loop_nonmonotonic_dynamic_start(long, long, long, long, long *, long *);
extern bool GOMP_loop_nonmonotonic_guided_start(long, long, long, long, long *, long *);
extern bool GOMP_loop_runtime_start(long, long, long, long *, long *);
extern bool GOMP_loop_nonmonotonic_runtime_start(long, long, long, long *, long *);
extern bool GOMP_loop_maybe_nonmonotonic_runtime_start(long, long, long, long *, long *);
extern bool GOMP_loop_start(long, long, long, long, long, long *, long *, uintptr_t *, void **);
extern bool GOMP_loop_static_next(long *, long *);
extern bool GOMP_loop_dynamic_next(long *, long *);
extern bool GOMP_loop_guided_next(long *, long *);
extern bool GOMP_loop_nonmonotonic_dynamic_next(long *, long *);
extern bool GOMP_loop_nonmonotonic_guided_next(long *, long *);
extern bool GOMP_loop_runtime_next(long *, long *);
extern bool GOMP_loop_nonmonotonic_runtime_next(long *, long *);
extern bool GOMP_loop_maybe_nonmonotonic_runtime_next(long *, long *);
extern void GOMP_loop_end(void);
extern void GOMP_loop_end_nowait(void);

extern bool GOMP_loop_ull_static_start(bool, ull, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_dynamic_start(bool, ull, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_guided_start(bool, ull, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_nonmonotonic_dynamic_start(bool, ull, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_nonmonotonic_guided_start(bool, ull, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_runtime_start(bool, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_nonmonotonic_runtime_start(bool, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_maybe_nonmonotonic_runtime_start(bool, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_start(bool, ull, ull, ull, long, ull, ull *, ull *, uintptr_t *, void **);
extern bool GOMP_loop_ull_static_next(ull *, ull *);
extern bool GOMP_loop_ull_dynamic_next(ull *, ull *);
extern bool GOMP_loop_ull_guided_next(ull *, ull *);
extern bool GOMP_loop_ull_nonmonotonic_dynamic_next(ull *, ull *);
extern bool GOMP_loop_ull_nonmonotonic_guided_next(ull *, ull *);
extern bool GOMP_loop_ull_runtime_next(ull *, ull *);
extern bool GOMP_loop_ull_nonmonotonic_runtime_next(ull *, ull *);
extern bool GOMP_loop_ull_maybe_nonmonotonic_runtime_next(ull *, ull *);

#endif
