/* One direction of the factored solution, as its grid lines lie in memory.
 *
 * Lines that lie side by side are solved together, one in each lane of a
 * vector: the recurrence along a line, which no compiler can vectorise, then
 * does the same to several lines. */
#ifndef FATHOMP_NPB_SWEEP_H
#define FATHOMP_NPB_SWEEP_H

#include "adi.h"

#define LANES 2
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
_Static_assert((ADI_GRID - 2) % LANES == 0, "the interior lines fill all lanes");

enum direction { X, Y, Z };

/* Distances and places in elements of a field. */
struct sweep {
    enum direction direction;
    ptrdiff_t along;        /* from a point of a line to the next */
    ptrdiff_t across;       /* from a line to its neighbour in the next lane */
    ptrdiff_t normal, b, c; /* the momenta: along the direction and the others */
    double spread;          /* d of the direction */
};

/* Solves the systems of LANES lines; `u` and `rhs` point to the first component
 * at their first point, on the boundary. The solution replaces the right-hand
 * side; after Z, the last sweep, it is added to the state. On the boundary the
 * solution is zero. Provided by the program. */
void adi_solve_lines(double *restrict u, double *restrict rhs, const struct sweep *s);

/* Factors of first and second differences in those systems. */
#define SWEEP_FIRST (ADI_TIME_STEP * ADI_FIRST)
#define SWEEP_SECOND (ADI_TIME_STEP * ADI_SECOND)

/* One value of each line of a bundle. */
static inline lanes gather(const double *field, ptrdiff_t across)
{
    lanes value;
    for (int w = 0; w < LANES; w++)
        value[w] = field[w * across];
    return value;
}

static inline void scatter(double *field, ptrdiff_t across, lanes value)
{
    for (int w = 0; w < LANES; w++)
        field[w * across] = value[w];
}

/* The state at a point of a line, per mass. */
struct flow {
    lanes volume;
    lanes along, b, c; /* velocities, in the order of the sweep */
    lanes energy, kinetic;
};

static inline void gather_flow(struct flow *f, const double *u, const struct sweep *s)
{
    f->volume = 1.0 / gather(u, s->across);
    f->along = gather(u + s->normal, s->across) * f->volume;
    f->b = gather(u + s->b, s->across) * f->volume;
    f->c = gather(u + s->c, s->across) * f->volume;
    f->energy = gather(u + ADI_ENERGY * ADI_ROW, s->across) * f->volume;
    f->kinetic = 0.5 * (f->along * f->along + f->b * f->b + f->c * f->c);
}

#endif
