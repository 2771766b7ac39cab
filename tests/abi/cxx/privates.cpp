// Constructors, copies and destructors of private objects, in pairs.
#include "check.h"
#include <omp.h>

static int made, copied, gone;

struct Counted {
    int value;
    Counted() : value(1) { __atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST); }
    Counted(const Counted &other) : value(other.value) { __atomic_add_fetch(&copied, 1, __ATOMIC_SEQ_CST); }
    Counted &operator=(const Counted &) = default;
    ~Counted() { __atomic_add_fetch(&gone, 1, __ATOMIC_SEQ_CST); }
    Counted &operator+=(const Counted &other)
    {
        value += other.value;
        return *this;
    }
};

#pragma omp declare reduction(+ : Counted : omp_out += omp_in) initializer(omp_priv = Counted())

int main()
{
    int threads = omp_get_max_threads();
    {
        Counted a, b, last, sum;
        b.value = 5;
        made = copied = gone = 0;
#pragma omp parallel private(a) firstprivate(b)
        {
            CHECK_EQ(a.value, 1);
            CHECK_EQ(b.value, 5);
            b.value = omp_get_thread_num();
        }
        CHECK_EQ(made, threads);
        CHECK_EQ(copied, threads);
        CHECK_EQ(gone, 2 * threads);
        CHECK_EQ(b.value, 5);
        made = copied = gone = 0;
#pragma omp parallel for lastprivate(last) schedule(dynamic)
        for (int i = 0; i < 50; i++)
            last.value = i;
        CHECK_EQ(last.value, 49);
        CHECK_EQ(made, gone);
        made = copied = gone = 0;
#pragma omp parallel for reduction(+ : sum) schedule(guided)
        for (int i = 0; i < 50; i++)
            sum += Counted();
        CHECK_EQ(sum.value, 1 + 50 + threads);
        CHECK_EQ(made + copied, gone);
        made = copied = gone = 0;
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 40; i++) {
#pragma omp task firstprivate(b)
            CHECK_EQ(b.value, 5);
        }
        CHECK_EQ(copied + made, gone);
        CHECK(copied >= 40);
        made = copied = gone = 0;
#pragma omp parallel
        {
            Counted mine;
#pragma omp single copyprivate(mine)
            mine.value = 99;
            CHECK_EQ(mine.value, 99);
#pragma omp taskloop firstprivate(b) grainsize(4)
            for (int i = 0; i < 20; i++)
                CHECK_EQ(b.value, 5);
        }
        CHECK_EQ(made + copied, gone);
    }
    printf("ok\n");
    return check_result();
}
