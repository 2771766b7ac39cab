/* LU: a lower-upper symmetric Gauss-Seidel solver whose sweeps are a pipeline.
 *
 * The program is described in ../lu_common/ssor.c; this file walks through a
 * sweep as the published OpenMP version does (Jin, Frumkin and Yan,
 * NAS-99-011). Each thread owns the same range of lines in every plane. A lower
 * sweep may do its part of plane k as soon as the thread before has done its own
 * of plane k, so that the team works on as many planes as it has threads, one
 * thread a plane behind the other; the upper sweep runs the other way round.
 * Neighbours meet point to point: each thread counts the planes it has done,
 * and the next one waits for the count. Flushes on both sides carry the lines
 * across. There is no barrier until the end.
 */
#define _POSIX_C_SOURCE 200809L
#include "../lu_common/lu.h"
#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif

const char lu_name[] = "lu";

/* Looks at a neighbour's count before the processor is offered to others: some
 * ten microseconds, longer than a plane of few lines takes. */
#define LOOKS_MAX 10000

/* Planes that each thread has done in both sweeps of this step. Two cache lines
 * each, because processors fetch lines in pairs. No more threads than inner
 * lines have any. */
static struct {
    _Alignas(128) int planes;
} done[LU_LAST];

/* ThreadSanitizer does not know what flushes order, so it is told. */
#ifdef __has_feature
#define THREADS_ARE_CHECKED __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define THREADS_ARE_CHECKED 1
#else
#define THREADS_ARE_CHECKED 0
#endif
#if THREADS_ARE_CHECKED
#include <sanitizer/tsan_interface.h>
#define flushed_by(thread) __tsan_acquire(&done[thread])
#define flushed_for_others(me) __tsan_release(&done[me])
#else
#define flushed_by(thread) ((void)(thread))
#define flushed_for_others(me) ((void)(me))
#endif

/* Waits until `thread` has done `planes`, and sees what it has written. */
static void wait_for(int thread, int planes)
{
    for (int looks = 0;; looks++) {
        int seen;
#pragma omp atomic read
        seen = done[thread].planes;
        if (seen >= planes)
            break;
        /* More threads than processors: the neighbour may need this one. */
        if (looks >= LOOKS_MAX)
            sched_yield();
    }
#pragma omp flush
    flushed_by(thread);
}

/* Lets others see what was written, and then that so many planes are done. */
static void tell_done(int thread, int planes)
{
    (void)planes; /* which gcc 12 says is not used by an atomic write */
    flushed_for_others(thread);
#pragma omp flush
#pragma omp atomic write
    done[thread].planes = planes;
#pragma omp flush
}

/* The lines `first` to `last` of a plane, by the thread `me` of `owners`. */
static void sweep_range(int me, int owners, int first, int last)
{
    for (int k = 1; k <= LU_LAST; k++) {
        if (me > 0)
            wait_for(me - 1, k);
        for (int j = first; j <= last; j++)
            lu_solve_lower_line(k, j);
        tell_done(me, k);
    }
    for (int k = LU_LAST; k >= 1; k--) {
        int planes = LU_LAST + (LU_LAST - k) + 1;
        if (me < owners - 1)
            wait_for(me + 1, planes);
        for (int j = last; j >= first; j--)
            lu_solve_upper_line(k, j);
        tell_done(me, planes);
    }
}

void lu_sweep(void)
{
    int me = 0;
    int owners = 1; /* threads that own lines */
#ifdef _OPENMP
    me = omp_get_thread_num();
    owners = omp_get_num_threads();
#endif
    if (owners > LU_LAST)
        owners = LU_LAST;

    if (me < owners)
        done[me].planes = 0;
    /* Nobody may take the last step's count for this one's. */
#pragma omp barrier
    if (me < owners)
        sweep_range(me, owners, 1 + me * LU_LAST / owners, (me + 1) * LU_LAST / owners);
}
