/* Atomic updates of which something is used, or which are more than one operation. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define N 64

static double d[N], old_sum, new_sum, most = -1, last_bits;
static float f[N];
static long left = 1000, rounds_taken, tickets, smallest = 1 << 20;
static uint64_t word, kept;
static int zeros;

static double value(uint64_t bits)
{
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

static uint64_t bits_of(double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	return bits;
}

#define EXCHANGE(at, old, new) \
	__atomic_compare_exchange_n(at, old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* What the loop found is returned. */
__attribute__((noinline)) static double add_and_tell(uint64_t *at, double x)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
	while (!EXCHANGE(at, &old, bits_of(value(old) + x)))
		;
	return value(old);
}

__attribute__((noinline)) static void tell(uint64_t bits)
{
	__atomic_store_n(&kept, bits, __ATOMIC_RELEASE);
}

/* What the loop found is another function's argument. */
__attribute__((noinline)) static void add_and_pass(uint64_t *at, double x)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
	while (!EXCHANGE(at, &old, bits_of(value(old) + x)))
		;
	tell(old);
}

/* How many rounds there were is used. */
__attribute__((noinline)) static int add_and_count(uint64_t *at, double x)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
	int rounds = 1;
	while (!EXCHANGE(at, &old, bits_of(value(old) + x)))
		rounds++;
	return rounds;
}

/* Two operations. */
__attribute__((noinline)) static void add_and_double(uint64_t *at, double x)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
	while (!EXCHANGE(at, &old, bits_of((value(old) + x) * 2)))
		;
}

/* It waits until the word is what it wants. */
__attribute__((noinline)) static void add_to_one(uint64_t *at, double one)
{
	uint64_t old;
	do {
		old = bits_of(one);
	} while (!EXCHANGE(at, &old, bits_of(value(old) + one)));
}

/* It writes something in each round. */
__attribute__((noinline)) static void add_and_note(uint64_t *at, double x, uint64_t *note)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
	do
		*note = old;
	while (!EXCHANGE(at, &old, bits_of(value(old) + x)));
}

int main(void)
{
	uint64_t note = 0;
#pragma omp parallel
#pragma omp single
	for (int k = 0; k < 1000; k++) {
		double was, is, x = k;
		long ticket;
#pragma omp atomic capture
		{ was = d[k % N]; d[k % N] += x; }
		old_sum += was;
#pragma omp atomic capture
		is = d[k * 3 % N] *= 0.5;
		new_sum += is;
#pragma omp atomic
		d[k % N] = x - d[k % N];
#pragma omp atomic
		d[k % N] /= x + 1;
#pragma omp atomic
		f[k % N] += x * 0.3;
#pragma omp atomic capture
		ticket = tickets++;
		if (ticket % 7 == 3)
			zeros++;
		if (__atomic_sub_fetch(&left, 1, __ATOMIC_ACQ_REL) == 0)
			zeros += 1000;
		uint64_t seen = bits_of(most);
		while (value(seen) < x && !EXCHANGE((uint64_t *)&most, &seen, bits_of(x)))
			;
		last_bits += add_and_tell(&word, x);
		add_and_pass(&word, 1);
		rounds_taken += add_and_count(&word, 2);
		add_and_double(&word, 0.5);
		word = bits_of(1);
		add_to_one(&word, 1);
		add_and_note(&word, x, &note);
	}
	printf("%g %g %g %g %g %ld %d %llx %llx\n", old_sum, new_sum, most, last_bits, value(word),
	       rounds_taken, zeros, (unsigned long long)kept, (unsigned long long)note);
	for (int k = 0; k < N; k++)
		printf("%g %g\n", d[k], f[k]);
	return 0;
}
