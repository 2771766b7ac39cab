/* A structured grid in zones, as the multi-zone benchmarks of NASA have it (van der Wijngaart and
 * Jin: "NAS Parallel Benchmarks, Multi-Zone Versions", NAS-03-010): each step exchanges the borders
 * of neighbouring zones, by messages where they belong to different ranks, and relaxes every zone
 * with OpenMP. Zones are dealt to ranks in blocks.
 *
 * `equal` has zones of one size, as SP-MZ. In `unequal` widths grow geometrically, as in BT-MZ, and
 * the last rank gets most of the work. Cause: unequal work of ranks.
 *
 * The initial values are an eigenvector of the relaxation, so each step multiplies them by the same
 * known factor. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 512, WIDTH = 512, STEPS = 300, ZONES_EACH = 2 };

typedef struct {
    int owner, begin, width;
    double *now, *next;
} Zone;

/* A column of a zone; column 0 and the last belong to its neighbours. */
static double *column(double *values, int x) { return values + (size_t)x * (HEIGHT + 2); }

static void relax(Zone *zone) {
#pragma omp parallel for
    for (int x = 1; x <= zone->width; x++) {
        const double *left = column(zone->now, x - 1), *right = column(zone->now, x + 1);
        const double *here = column(zone->now, x);
        double *to = column(zone->next, x);
        for (int y = 1; y <= HEIGHT; y++)
            to[y] = 0.25 * (left[y] + right[y] + here[y - 1] + here[y + 1]);
    }
    double *swapped = zone->now;
    zone->now = zone->next;
    zone->next = swapped;
}

static void exchange(Zone *zones, int count, int rank) {
    MPI_Request requests[4 * ZONES_EACH + 4];
    int open = 0;
    for (int i = 0; i + 1 < count; i++) {
        Zone *left = &zones[i], *right = &zones[i + 1];
        if (left->owner == rank && right->owner == rank) {
            memcpy(column(left->now, left->width + 1), column(right->now, 1), sizeof(double[HEIGHT + 2]));
            memcpy(column(right->now, 0), column(left->now, left->width), sizeof(double[HEIGHT + 2]));
        } else if (left->owner == rank || right->owner == rank) {
            int is_left = left->owner == rank;
            Zone *own = is_left ? left : right;
            int other = is_left ? right->owner : left->owner;
            double *outer = column(own->now, is_left ? own->width + 1 : 0);
            double *inner = column(own->now, is_left ? own->width : 1);
            MPI_Irecv(outer, HEIGHT + 2, MPI_DOUBLE, other, i, MPI_COMM_WORLD, &requests[open++]);
            MPI_Isend(inner, HEIGHT + 2, MPI_DOUBLE, other, i, MPI_COMM_WORLD, &requests[open++]);
        }
    }
    MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
}

int main(int count, char **words) {
    int rank, ranks, provided;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int all = ZONES_EACH * ranks, width = 0;
    double growth = count > 1 && strcmp(words[1], "unequal") == 0 ? 2.0 : 1.0, sum = 0;
    for (int i = 0; i < all; i++)
        sum += pow(growth, i);
    Zone *zones = calloc(all, sizeof(Zone));
    for (int i = 0; i < all; i++) {
        int part = i + 1 < all ? (int)(WIDTH * ranks * pow(growth, i) / sum) : WIDTH * ranks - width;
        zones[i] = (Zone){.owner = i / ZONES_EACH, .begin = width, .width = part};
        width += part;
    }
    double across = acos(-1) / (width + 1), along = acos(-1) / (HEIGHT + 1);
    for (int i = 0; i < all; i++) {
        if (zones[i].owner != rank)
            continue;
        zones[i].now = calloc((size_t)(zones[i].width + 2) * (HEIGHT + 2), sizeof(double));
        zones[i].next = calloc((size_t)(zones[i].width + 2) * (HEIGHT + 2), sizeof(double));
        for (int x = 1; x <= zones[i].width; x++)
            for (int y = 1; y <= HEIGHT; y++)
                column(zones[i].now, x)[y] = sin(across * (zones[i].begin + x)) * sin(along * y);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < STEPS; step++) {
        exchange(zones, all, rank);
        for (int i = 0; i < all; i++)
            if (zones[i].owner == rank)
                relax(&zones[i]);
    }
    double factor = pow((cos(across) + cos(along)) / 2, STEPS), error = 0, largest;
    for (int i = 0; i < all; i++)
        for (int x = 1; zones[i].owner == rank && x <= zones[i].width; x++)
            for (int y = 1; y <= HEIGHT; y++) {
                double right = factor * sin(across * (zones[i].begin + x)) * sin(along * y);
                error = fmax(error, fabs(column(zones[i].now, x)[y] - right));
            }
    MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", largest < 1e-9 ? "right" : "wrong");
    MPI_Finalize();
    return largest < 1e-9 ? 0 : 1;
}
