// fathomp: clang has no private arrays of variable length in tasks
// Tasks with arguments that have constructors: each gets its own copy, made when it is created,
// wherever it runs, and destroys it.
#include "check.h"
#include <string>
#include <unistd.h>
#include <vector>

namespace {

/* Knows where it is: bytes that were moved would give it away. */
struct Anchored {
    const Anchored *self;
    long value;

    explicit Anchored(long value) : self(this), value(value) {}
    Anchored(const Anchored &other) : self(this), value(other.value + 1) {}
    ~Anchored() { self = nullptr; }
};

long results[40 * 512];

} // namespace

int main()
{
    for (int round = 0; round < 3; round++) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 40; i++) {
            Anchored anchored(i);
            std::string text = "short";
            std::vector<int> list(100 + i, i);
            if (i % 2 == 0)
                text += std::string(100, 'x');
            int sizes = i % 5 + 1;
            int local[sizes];
            for (int k = 0; k < sizes; k++)
                local[k] = k + i;
#pragma omp task firstprivate(anchored, text, list, local, i, sizes)
            {
                usleep(200);
                bool right = anchored.self == &anchored && anchored.value == i + 1;
                right = right && text.size() == (i % 2 == 0 ? 105u : 5u) && text[4] == 't';
                right = right && list.size() == 100u + i && list[99] == i;
                for (int k = 0; k < sizes; k++)
                    right = right && local[k] == k + i;
                long inner = 0;
#pragma omp task shared(anchored, inner)
                inner = anchored.value;
#pragma omp taskwait
                results[i * 512] = right && inner == i + 1 ? i + 1 : -1;
            }
        }
        for (int i = 0; i < 40; i++)
            CHECK(results[i * 512] == i + 1);
    }
    return check_result();
}
