// Tasks that touch members, lambdas in tasks, and recursion over a container.
#include "check.h"
#include <algorithm>
#include <functional>
#include <memory>
#include <omp.h>
#include <vector>

struct Node {
    std::unique_ptr<Node> left, right;
    long value = 1;
    long weight = 0;
    void grow(int depth)
    {
        if (depth == 0)
            return;
        left = std::make_unique<Node>();
        right = std::make_unique<Node>();
#pragma omp task
        left->grow(depth - 1);
#pragma omp task
        right->grow(depth - 1);
#pragma omp taskwait
    }
    void weigh()
    {
        if (left) {
#pragma omp task
            left->weigh();
            right->weigh();
#pragma omp taskwait
            weight = left->weight + right->weight;
        }
        weight += value;
    }
};

static void quicksort(std::vector<int> &v, long from, long to)
{
    if (to - from < 50) {
        std::sort(v.begin() + from, v.begin() + to);
        return;
    }
    int pivot = v[(from + to) / 2];
    auto middle1 = std::partition(v.begin() + from, v.begin() + to, [=](int x) { return x < pivot; });
    auto middle2 = std::partition(middle1, v.begin() + to, [=](int x) { return x == pivot; });
    long a = middle1 - v.begin(), b = middle2 - v.begin();
#pragma omp task shared(v)
    quicksort(v, from, a);
#pragma omp task shared(v)
    quicksort(v, b, to);
#pragma omp taskwait
}

int main()
{
    Node root;
    std::vector<int> v(20000);
    unsigned state = 1;
    for (int &x : v)
        x = int((state = state * 1103515245u + 12345u) >> 16);
#pragma omp parallel
#pragma omp single
    {
        root.grow(9);
        root.weigh();
        quicksort(v, 0, long(v.size()));
    }
    CHECK_EQ(root.weight, 1023);
    CHECK(std::is_sorted(v.begin(), v.end()));
    int called = 0;
    std::function<void()> call = [&] { __atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST); };
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task firstprivate(call)
        call();
    }
    CHECK_EQ(called, 100);
    printf("%ld\n", root.weight);
    return check_result();
}
