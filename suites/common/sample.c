/* Reference and construct in turn, each filling the target time. */
#include "sample.h"
#include "clock.h"
#include "misses.h"

struct reading {
    double wall_ns, cpu_ns, team_cpu_ns, misses;
};

static long work(const struct row *row, int reference, long reps)
{
    if (!reference)
        return row->run(reps);
    row->reference(reps);
    return 0;
}

/* Differences over one call of the row's work. The wall clock is read
 * innermost: the others are system calls. */
static struct reading measured(const struct row *row, int reference, long reps, long *wrong)
{
    struct reading r;
    double misses = misses_now();
    double team = team_cpu_ns();
    double cpu = thread_cpu_ns();
    double wall = wall_ns();
    *wrong += work(row, reference, reps);
    r.wall_ns = wall_ns() - wall;
    r.cpu_ns = thread_cpu_ns() - cpu;
    r.team_cpu_ns = team_cpu_ns() - team;
    r.misses = misses_now() - misses;
    return r;
}

static double timed(const struct row *row, int reference, long reps, long *wrong)
{
    double start = wall_ns();
    *wrong += work(row, reference, reps);
    return wall_ns() - start;
}

/* Finds how many repetitions fill the target time. The first calls also warm
 * the runtime up: no team is formed inside a sample. */
static long repetitions(const struct row *row, int reference, struct plan plan, long *wrong)
{
    const double enough = 0.75 * plan.target_ns;
    const double patience_ends = wall_ns() + 0.25 * plan.limit_ns;
    const long step = row->shared_out ? threads : 1;
    long reps = step;
    timed(row, reference, reps, wrong);
    for (;;) {
        /* The fastest of some tries, or one slow try would end the search too
         * early and the samples would be short. */
        double time = timed(row, reference, reps, wrong);
        for (int i = 1; i < 5 && time >= enough && wall_ns() < patience_ends; i++) {
            double again = timed(row, reference, reps, wrong);
            if (again < time)
                time = again;
        }
        if (time >= enough || reps > 100000000L)
            return reps;
        double grow = time > 0.0 ? 1.1 * plan.target_ns / time : 10.0;
        if (grow > 10.0)
            grow = 10.0;
        long next = (long)((double)reps * grow);
        next -= next % step;
        reps = next > reps ? next : reps + step;
    }
}

static void add(struct samples *samples, struct reading r)
{
    double reps = (double)samples->reps;
    long i = samples->count++;
    samples->wall_ns[i] = r.wall_ns / reps;
    samples->cpu_ns[i] = r.cpu_ns / reps;
    samples->team_cpu_ns[i] = r.team_cpu_ns / reps;
    samples->misses[i] = r.misses / reps;
}

/* Reference and construct take turns: a processor that changes its frequency
 * or is lent to another program for a while then disturbs both alike. */
long take_samples(const struct row *row, struct plan plan, struct samples *reference,
                  struct samples *construct)
{
    long wrong = 0;
    if (row->reference)
        reference->reps = repetitions(row, 1, plan, &wrong);
    construct->reps = repetitions(row, 0, plan, &wrong);
    double start = wall_ns();
    for (long i = 0; i < plan.samples; i++) {
        if (i >= 3 && wall_ns() - start > plan.limit_ns)
            break;
        if (row->reference)
            add(reference, measured(row, 1, reference->reps, &wrong));
        add(construct, measured(row, 0, construct->reps, &wrong));
    }
    return wrong;
}
