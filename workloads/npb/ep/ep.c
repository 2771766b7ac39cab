/* NPB EP, "embarrassingly parallel" (RNR-94-007, kernel EP): pairs of normal
 * deviates by the polar method, counted by the square annulus they fall into.
 *
 * Parallel over batches of 2^16 pairs. A batch jumps to its own place in the
 * sequence of random numbers, so the result does not depend on who computes it;
 * sums and tallies are private and reduced once, at the end.
 *
 * Here to show: nothing to wait for and no shared memory but one final
 * reduction. What a runtime or a cluster costs beyond this is fixed cost.
 */
#include "npb.h"
#include <math.h>
#include <stdio.h>

/* log2 of the number of pairs. */
#define LOG2_PAIRS NPB_BY_CLASS(24, 25, 28, 30, 32)
#define LOG2_BATCH_PAIRS 16
#define BATCHES (1L << (LOG2_PAIRS - LOG2_BATCH_PAIRS))
#define BATCH_PAIRS (1L << LOG2_BATCH_PAIRS)

/* Pairs drawn before any is transformed: few enough for the first-level cache. */
#define BLOCK_PAIRS 512

#define SEED UINT64_C(271828183)

/* The specification counts annuli 0 to 9. A coordinate of the generator is at
 * least 2^-45 from zero, so no deviate passes sqrt(-2 ln 2^-89) < 12. */
#define PUBLISHED_ANNULI 10
#define ANNULI 12

/* The pairs of a block that fell inside the unit circle. */
struct accepted {
    int count;
    double x[BLOCK_PAIRS];
    double y[BLOCK_PAIRS];
    double square[BLOCK_PAIRS]; /* x^2 + y^2 */
};

struct sums {
    double x;
    double y;
    long tally[ANNULI];
};

/* Draws the next block. The two numbers of a pair run as two sequences, each
 * with twice the stride, so that their multiplications overlap; a rejected pair
 * is overwritten by the next one, without a branch to mispredict. */
static void draw_block(uint64_t *state, uint64_t stride_two, struct accepted *block)
{
    uint64_t first = npb_step(*state, NPB_MULTIPLIER);
    uint64_t second = *state;
    int count = 0;
    for (int i = 0; i < BLOCK_PAIRS; i++) {
        second = npb_step(second, stride_two);
        double x = 2.0 * npb_fraction(first) - 1.0;
        double y = 2.0 * npb_fraction(second) - 1.0;
        double square = x * x + y * y;
        block->x[count] = x;
        block->y[count] = y;
        block->square[count] = square;
        count += square <= 1.0;
        first = npb_step(first, stride_two);
    }
    *state = second;
    block->count = count;
}

/* The polar method on the accepted pairs, and their tallies. */
static void tally_block(const struct accepted *block, struct sums *sums)
{
    double sum_x = 0.0;
    double sum_y = 0.0;
    for (int i = 0; i < block->count; i++) {
        double square = block->square[i];
        double factor = sqrt(-2.0 * log(square) / square);
        double x = block->x[i] * factor;
        double y = block->y[i] * factor;
        double largest = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
        sums->tally[(int)largest]++;
        sum_x += x;
        sum_y += y;
    }
    sums->x += sum_x;
    sums->y += sum_y;
}

static void add_batch(long batch, uint64_t stride_two, struct sums *sums)
{
    uint64_t skip = npb_power(NPB_MULTIPLIER, 2 * (uint64_t)batch * BATCH_PAIRS);
    uint64_t state = npb_step(SEED, skip);
    struct accepted block;
    for (long done = 0; done < BATCH_PAIRS; done += BLOCK_PAIRS) {
        draw_block(&state, stride_two, &block);
        tally_block(&block, sums);
    }
}

static struct sums compute(void)
{
    uint64_t stride_two = npb_step(NPB_MULTIPLIER, NPB_MULTIPLIER);
    double sum_x = 0.0;
    double sum_y = 0.0;
    long tally[ANNULI] = {0};
#pragma omp parallel reduction(+ : sum_x, sum_y, tally[:ANNULI])
    {
        struct sums mine = {0};
#pragma omp for schedule(static) nowait
        for (long batch = 0; batch < BATCHES; batch++)
            add_batch(batch, stride_two, &mine);
        sum_x += mine.x;
        sum_y += mine.y;
        for (int i = 0; i < ANNULI; i++)
            tally[i] += mine.tally[i];
    }
    struct sums all = {.x = sum_x, .y = sum_y};
    for (int i = 0; i < ANNULI; i++)
        all.tally[i] = tally[i];
    return all;
}

static void print_tallies(const struct sums *sums)
{
    long pairs = 0;
    for (int i = 0; i < ANNULI; i++)
        pairs += sums->tally[i];
    printf("  %ld Gaussian pairs\n", pairs);
    for (int i = 0; i < PUBLISHED_ANNULI; i++)
        printf("  annulus %d %14ld\n", i, sums->tally[i]);
}

int main(int argc, char **argv)
{
    workload_fixed_arguments(argc, argv, "ep", NPB_CLASS_NAME, 0);
    workload_threads(); /* forms the team */

    double start_s = workload_seconds();
    struct sums sums = compute();
    double elapsed_s = workload_seconds() - start_s;

    print_tallies(&sums);
    const struct npb_check checks[] = {
        {"sum x", sums.x,
         NPB_BY_CLASS(-3.247834652034740e+3, -2.863319731645753e+3, -4.295875165629892e+3,
                      4.033815542441498e+4, 4.764367927995374e+4)},
        {"sum y", sums.y,
         NPB_BY_CLASS(-6.958407078382297e+3, -6.320053679109499e+3, -1.580732573678431e+4,
                      -2.660669192809235e+4, -8.084072988043731e+4)},
    };
    const struct workload_result result = {
        .suite = "npb",
        .name = "ep",
        .size = NPB_CLASS_NAME,
        .iterations = 1,
        .seconds = elapsed_s,
        .operations = ldexp(1.0, LOG2_PAIRS + 1),
        .unit = "random numbers",
        .checksum = NAN,
        .verdict = npb_verify(checks, 2, 1e-8),
    };
    return workload_finish(&result);
}
