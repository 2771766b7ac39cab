/* Atomic updates of which nobody uses what they found or left. All sums and products are exact,
   so that their order does not matter. */
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>

#define N 64

static double d[N], products[N];
static float f[N];
static long l[N];
static int i32[N];
static unsigned char u8[N];
static uint64_t bits[3];
static double total, sums[4];
static struct { float x[3]; double y; } *points;

static void integers(int k)
{
#pragma omp atomic
	l[k % N]++;
#pragma omp atomic
	l[k * 3 % N] -= k;
#pragma omp atomic
	i32[k * 5 % N] += 1 << (k & 7);
#pragma omp atomic
	i32[k * 7 % N]--;
#pragma omp atomic
	u8[k % N] += 3;
#pragma omp atomic
	bits[0] |= (uint64_t)1 << k % N;
#pragma omp atomic
	bits[1] &= ~((uint64_t)1 << k * 3 % N);
#pragma omp atomic
	bits[2] ^= (uint64_t)k << 7;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 40 * N;
	double step = argc * 0.5;
	float small = argc * 0.25f;

	points = calloc(N, sizeof *points);
	for (int k = 0; k < N; k++)
		products[k] = 1;
	bits[1] = ~(uint64_t)0;
#pragma omp parallel
	{
		double own = 0;
#pragma omp for
		for (int k = 0; k < rounds; k++)
			integers(k);
#pragma omp for
		for (int k = 0; k < rounds; k++) {
			int to = k * 7 % N;
			double half = 0.5 * k;
			own += k;
#pragma omp atomic
			d[to] += half;
#pragma omp atomic
			d[(to + 1) % N] -= step;
#pragma omp atomic
			d[(to + 2) % N] = step + d[(to + 2) % N];
#pragma omp atomic
			f[to] += small;
#pragma omp atomic
			f[(to + 3) % N] -= (float)(k % 5);
#pragma omp atomic
			total += 1.0;
#pragma omp atomic
			points[to].y += points[to].x[2] + 1;
#pragma omp atomic
			points[(to + 1) % N].x[k % 2] += 2.0f;
		}
#pragma omp for
		for (int k = 0; k < 2 * N; k++) {
#pragma omp atomic
			products[k % N] *= 2.0;
#pragma omp atomic
			products[k * 5 % N] *= step;
		}
#pragma omp atomic
		sums[0] += own;
#pragma omp barrier
#pragma omp single
		for (int k = 0; k < 8; k++)
#pragma omp task firstprivate(k)
		{
#pragma omp atomic
			sums[k % 4] += k;
		}
	}
	for (int k = 0; k < N; k++)
		printf("%g %g %g %ld %d %d %g %g %g\n", d[k], products[k], f[k], l[k], i32[k],
		       u8[k], points[k].y, points[k].x[0], points[k].x[1]);
	printf("%llx %llx %llx %g %g %g %g %g\n", (unsigned long long)bits[0],
	       (unsigned long long)bits[1], (unsigned long long)bits[2], total, sums[0], sums[1],
	       sums[2], sums[3]);
	return 0;
}
