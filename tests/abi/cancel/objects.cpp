// fathomp: env OMP_CANCELLATION=true
// Objects that were made for tasks of a cancelled group are destroyed, whether the tasks run or not.
#include "check.h"
#include <omp.h>

struct Object {
    static int alive, made;
    int value;
    explicit Object(int value) : value(value) { count(1); }
    Object(const Object &other) : value(other.value) { count(1); }
    ~Object() { count(-1); }
    static void count(int more)
    {
#pragma omp atomic
        alive += more;
        if (more > 0) {
#pragma omp atomic
            made += more;
        }
    }
};

int Object::alive = 0;
int Object::made = 0;

static int order;

static void group(bool deferred, bool ordered)
{
    Object object(7);
    int wrong = 0;
#pragma omp parallel shared(wrong)
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < 60; i++) {
        if (ordered) {
#pragma omp task firstprivate(object) if (deferred) depend(inout : order)
            {
#pragma omp cancellation point taskgroup
                if (object.value != 7) {
#pragma omp atomic
                    wrong++;
                }
#pragma omp cancel taskgroup if (i > 5)
            }
        } else {
#pragma omp task firstprivate(object) if (deferred)
            {
#pragma omp cancellation point taskgroup
                if (object.value != 7) {
#pragma omp atomic
                    wrong++;
                }
#pragma omp cancel taskgroup if (i > 5)
            }
        }
    }
    CHECK_EQ(wrong, 0);
}

int main()
{
    for (int round = 0; round < 10; round++)
        for (int kind = 0; kind < 4; kind++) {
            group(kind & 1, kind & 2);
            CHECK_EQ(Object::alive, 0);
        }
    CHECK(Object::made > 40);
    printf("ok\n");
    return check_result();
}
