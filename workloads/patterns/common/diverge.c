#include "diverge.h"
#include "work.h"

enum { BLOCK_WORDS = 2048, OWN_WORDS = 16 };

size_t diverge_side(size_t bytes)
{
    return pattern_square_root(bytes / sizeof(uint64_t));
}

static size_t blocks(const struct diverge_matrix *matrix)
{
    return matrix->n * matrix->n / BLOCK_WORDS;
}

void diverge_calculate(const struct diverge_matrix *matrix, long steps)
{
    uint64_t *word = matrix->word;
    size_t count = blocks(matrix);
#pragma omp parallel for
    for (size_t block = 0; block < count; block++)
        work_do(word + block * BLOCK_WORDS, OWN_WORDS, steps);
}

double diverge_operations(const struct diverge_matrix *matrix, long steps)
{
    return 2.0 * (double)steps * OWN_WORDS * (double)blocks(matrix);
}

uint64_t diverge_result(const struct diverge_matrix *matrix, size_t at, uint64_t value,
                        uint64_t steps)
{
    if (at / BLOCK_WORDS >= blocks(matrix) || at % BLOCK_WORDS >= OWN_WORDS)
        return value;
    struct work done = work_of(steps);
    return done.factor * value + done.addend;
}
