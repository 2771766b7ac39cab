/* Functions that wait for another thread (names with waits_) and functions that
 * look as if they might (works_). */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

extern int external(int);

int plain, number, table[64];
volatile int shown;
atomic_int flag;
_Atomic(int *) pointer;

struct item {
    struct item *next;
    int value;
};

void waits_until_set(void)
{
    while (!atomic_load(&flag))
        ;
}

void waits_and_yields(void)
{
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        sched_yield();
}

void waits_and_pauses(void)
{
    while (!shown)
        __builtin_ia32_pause();
}

int waits_for_many(void)
{
    int seen;
    do
        seen = atomic_load_explicit(&flag, memory_order_relaxed);
    while (seen < 10);
    return table[seen];
}

int waits_and_counts(atomic_int *which)
{
    int looks = 0;
    while (!atomic_load(which))
        if (++looks > 1000)
            sched_yield();
    return looks;
}

int *waits_for_a_pointer(void)
{
    int *found;
    while (!(found = atomic_load(&pointer)))
        ;
    return found;
}

int waits_then_fences(void)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        ;
    atomic_thread_fence(memory_order_seq_cst);
    return table[0];
}

int waits_between_fences(void)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        atomic_thread_fence(memory_order_seq_cst);
    return table[0];
}

int waits_between_fences_then_fences(void)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        atomic_thread_fence(memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    return table[0];
}

int works_on_a_table(void)
{
    int sum = 0;
    for (int i = 0; i < number; i++)
        sum += table[i];
    return sum;
}

int works_by_calls(void)
{
    int sum = 0;
    for (int i = 0; i < number; i++)
        sum += external(i);
    return sum;
}

int works_until_told(void)
{
    while (!plain)
        plain = external(3);
    return plain;
}

int works_along_a_string(const char *text)
{
    int length = 0;
    while (*text++)
        length++;
    return length;
}

int works_along_a_list(const struct item *item)
{
    while (item && item->value != 3)
        item = item->next;
    return item != 0;
}

/* A variable that cannot change meanwhile, and one that calls in other rounds may. */
int works_in_some_rounds(const int *left, const int *right)
{
    int different = 0;
    for (int i = 0; i < number; i++)
        if (left[i] != right[i] && plain)
            different += external(i);
    return different;
}

int works_as_long_as_there_are(const int *left)
{
    int different = 0;
    for (int i = 0; i < number; i++)
        if (left[i % 64] && plain)
            different += external(i);
    return different;
}

int works_on_what_is_chosen(const int *which, int *sums)
{
    for (int i = 0; i < 64; i++)
        if (plain == 7 || plain == which[i])
            sums[i] = external(table[i]);
    return sums[0];
}

/* It gives up now and then, and looks again. */
int waits_in_turns(void)
{
    for (;;) {
        for (int i = 0; i < 1000; i++)
            if (atomic_load(&flag))
                return i;
        external(1);
    }
}

/* Either may be what has come last. */
int waits_for_both(void)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed) || !shown)
        ;
    return plain;
}

int external(int x)
{
    return x & 1;
}

int main(void)
{
    atomic_store(&flag, 10);
    shown = 1;
    plain = 1;
    printf("%d\n", works_on_a_table() + works_by_calls() + works_until_told());
    return 0;
}
