// Every shape of inline atomic, counted: prints what it computed, and how often
// it worked on each variable, as "section ADDRESS BYTES COUNT".
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200, THREADS_MAX = 8 };

#define NOINLINE __attribute__((noinline))

typedef struct {
    unsigned char align_away;
    uint8_t b;
    uint16_t w;
    uint32_t d;
    uint64_t q;
} mixed;

static mixed near_variables;
static uint32_t table[16];
static uint64_t bits[4];
static double total;
static _Thread_local uint64_t own;
static atomic_uint stop;

// Each returns the number of atomic instructions that it must have executed.
// Small functions with the address in a register: short instructions.
NOINLINE static uint8_t add8(uint8_t *p, uint8_t x) { return __atomic_fetch_add(p, x, 5); }
NOINLINE static uint16_t add16(uint16_t *p, uint16_t x) { return __atomic_fetch_add(p, x, 5); }
NOINLINE static uint32_t add32(uint32_t *p, uint32_t x) { return __atomic_fetch_add(p, x, 5); }
NOINLINE static uint64_t add64(uint64_t *p, uint64_t x) { return __atomic_fetch_add(p, x, 5); }
NOINLINE static uint32_t swap32(uint32_t *p, uint32_t x) { return __atomic_exchange_n(p, x, 5); }
NOINLINE static uint64_t swap64(uint64_t *p, uint64_t x) { return __atomic_exchange_n(p, x, 5); }
NOINLINE static void store8(uint8_t *p, uint8_t x) { __atomic_store_n(p, x, 5); }
NOINLINE static bool last(uint32_t *p) { return __atomic_sub_fetch(p, 1, 5) == 0; }
NOINLINE static bool below(uint64_t *p, int64_t x) { return (int64_t)__atomic_add_fetch(p, x, 5) < 0; }

NOINLINE static bool replace64(uint64_t *p, uint64_t *expected, uint64_t x) {
    return __atomic_compare_exchange_n(p, expected, x, false, 5, 5);
}

NOINLINE static bool set_bit(uint64_t *p, unsigned bit) {
    return __atomic_fetch_or(p, UINT64_C(1) << bit, 5) >> bit & 1;
}

// The bit's number is in a register and may be beyond the word.
NOINLINE static bool flip_far_bit(uint64_t *p, uint64_t bit) {
    bool was;
    __asm__ volatile("lock btcq %2, %1\n\tsetc %0"
                     : "=q"(was), "+m"(*p)
                     : "r"(bit)
                     : "cc", "memory");
    return was;
}

// A branch into the middle of the instruction, past its prefix.
NOINLINE static void add_maybe_alone(uint64_t *p, bool alone) {
    __asm__ volatile("testb %1, %1\n\t"
                     "jne 1f\n\t"
                     "lock\n"
                     "1:\taddq $5, %0"
                     : "+m"(*p)
                     : "q"(alone)
                     : "cc", "memory");
}

// Two of the shortest sites side by side, then a label that a jump goes to.
NOINLINE static uint64_t chain(uint32_t *p, uint32_t *q, uint32_t x) {
    uint64_t rounds = 0;
    __asm__ volatile("movl $3, %%ecx\n"
                     "1:\txchgl %%eax, (%1)\n\t"
                     "xchgl %%eax, (%2)\n"
                     "2:\tincq %0\n\t"
                     "decl %%ecx\n\t"
                     "je 3f\n\t"
                     "testl $1, %%ecx\n\t"
                     "jne 2b\n\t"
                     "jmp 1b\n"
                     "3:"
                     : "+r"(rounds), "+r"(p), "+r"(q), "+a"(x)
                     :
                     : "ecx", "cc", "memory");
    return rounds;
}

// Floating-point values live in registers across an atomic; `errno` too.
NOINLINE static double keep(uint64_t *p, int n) {
    double a = 1, b = 2, c = 3, d = 5;
    errno = 77;
    for (int i = 0; i < n; i++) {
        __atomic_fetch_add(p, 1, 5);
        a = a * 1.0009765625 + b;
        b = b * 0.9990234375 + c;
        c = c * 0.5 + d;
        d = d * 0.25 + 1;
    }
    return errno == 77 ? a + b + c + d : -1;
}

static void wide(bool alone) {
#ifdef __SIZEOF_INT128__
    static unsigned __int128 pair __attribute__((aligned(16)));
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t low = (uint64_t)pair, high = (uint64_t)(pair >> 64);
        bool done;
        __asm__ volatile("lock cmpxchg16b %1\n\tsete %0"
                         : "=q"(done), "+m"(pair), "+a"(low), "+d"(high)
                         : "b"(low + 3), "c"(high + 7)
                         : "cc", "memory");
        if (alone && !done)
            abort();
    }
    if (alone) {
        printf("section %p 16 %d\n", (void *)&pair, ROUNDS);
        printf("wide %d\n", pair == ((unsigned __int128)(7 * ROUNDS) << 64) + 3 * ROUNDS);
    }
#endif
    (void)alone;
}

static void alone(void) {
    mixed *m = &near_variables;
    uint32_t swapped = 0, on_stack = 0;
    unsigned lasts = 0, signs = 0, sets = 0;
    for (int i = 0; i < ROUNDS; i++) {
        add8(&m->b, 3);
        add16(&m->w, 300);
        add32(&m->d, 70000);
        add64(&m->q, UINT64_C(1) << 33);
        store8(&m->align_away, (uint8_t)i);
        swapped ^= swap32(&table[i % 4], (uint32_t)i);
        __atomic_fetch_add(&table[4 + i % 4], 2, __ATOMIC_RELAXED);
        table[8] = 1;
        lasts += last(&table[8]);
        signs += below(&bits[0], i % 2 ? 7 : -7);
        sets += set_bit(&bits[1], (unsigned)i % 64);
        sets += flip_far_bit(&bits[2], 64 + (unsigned)i % 64);
        uint64_t expected = (uint64_t)i;
        if (!replace64(&own, &expected, (uint64_t)i + 1))
            abort();
        __atomic_fetch_add(&on_stack, 1, __ATOMIC_SEQ_CST);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
    printf("%u %u %u %llu %u %u %u %u %u\n", m->b, m->w, m->d, (unsigned long long)m->q, swapped,
           lasts, signs, sets, on_stack);
    printf("fences %d\n", ROUNDS);
    printf("section %p 1 %d\n", (void *)&m->b, ROUNDS);
    printf("section %p 2 %d\n", (void *)&m->w, ROUNDS);
    printf("section %p 4 %d\n", (void *)&m->d, ROUNDS);
    printf("section %p 8 %d\n", (void *)&m->q, ROUNDS);
    printf("section %p 1 %d\n", (void *)&m->align_away, ROUNDS);
    for (int i = 0; i < 8; i++)
        printf("section %p 4 %d\n", (void *)&table[i], ROUNDS / 4);
    printf("section %p 4 %d\n", (void *)&table[8], ROUNDS);
    printf("section %p 8 %d\n", (void *)&bits[0], ROUNDS);
    // Bit 64 and on of the third word are in the fourth.
    printf("section %p 8 %d\n", (void *)&bits[3], ROUNDS);
    printf("section %p 8 %d\n", (void *)&own, ROUNDS);
    printf("section %p 4 %d\n", (void *)&on_stack, ROUNDS);
    uint64_t count = 0;
    add_maybe_alone(&count, false);
    add_maybe_alone(&count, true);
    uint64_t kept = 0;
    uint64_t chained = chain(&table[9], &table[10], 9);
    printf("%llu %llu %.17g %llu\n", (unsigned long long)count, (unsigned long long)chained,
           keep(&kept, 1000), (unsigned long long)kept);
    printf("section %p 8 1\n", (void *)&count);
    printf("section %p 8 1000\n", (void *)&kept);
    printf("section %p 4 2\n", (void *)&table[9]);
    printf("section %p 4 2\n", (void *)&table[10]);
}

static uint32_t turns;
static uint64_t spun;
static uint64_t swaps_sum;
static uint64_t slot;

static void *together(void *argument) {
    uint64_t me = (uint64_t)(uintptr_t)argument;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        add32(&turns, 1);
        uint64_t seen = __atomic_load_n(&spun, __ATOMIC_RELAXED);
        while (!replace64(&spun, &seen, seen + me))
            ;
        add64(&swaps_sum, swap64(&slot, me * ROUNDS + i) + 1);
        double old = total, new;
        do
            new = old + 0.5;
        while (!__atomic_compare_exchange(&total, &old, &new, false, 5, 5));
        keep(&own, 1);
    }
    if (own != ROUNDS)
        abort();
    wide(false);
    atomic_store(&stop, 1);
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 0;
    if (threads <= 0 || threads > THREADS_MAX) {
        alone();
        wide(true);
        return 0;
    }
    pthread_t all[THREADS_MAX];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, together, (void *)(uintptr_t)(i + 1)) != 0)
            return 1;
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    // What went in by exchange came out, but for what is still there.
    uint64_t put = 0;
    for (uint64_t i = 1; i <= (uint64_t)threads; i++)
        put += i * ROUNDS * ROUNDS + (uint64_t)ROUNDS * (ROUNDS - 1) / 2;
    uint64_t expected = put - slot + (uint64_t)ROUNDS * (uint64_t)threads;
    printf("%u %llu %d %g %u\n", turns, (unsigned long long)spun, swaps_sum == expected, total,
           atomic_load(&stop));
    return 0;
}
