// What constructors have done before main is there when main runs.
#include "check.h"
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <locale>
#include <omp.h>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <vector>

struct Loop {
    Loop* self = this;
    int value = 0;
};

static thread_local int plain = 0;
static thread_local Loop loop;
static thread_local std::string text = "begun";
static thread_local std::vector<int> numbers(3, 7);
static int copied = 0;
#pragma omp threadprivate(copied)
static pthread_key_t key;
static pthread_t first;
static int region_members = 0;
static FILE* opened;
static volatile sig_atomic_t signals_seen = 0;

static void at_end() { printf("end, loop %d\n", loop.value); }
static void handler(int) { signals_seen = signals_seen + 1; }

struct Before {
    Before()
    {
        plain = 1;
        loop.value = 2;
        text += " before main";
        numbers.push_back(8);
        copied = 4;
        pthread_key_create(&key, nullptr);
        pthread_setspecific(key, &region_members);
        first = pthread_self();
        setlocale(LC_ALL, "C.UTF-8");
        std::locale::global(std::locale("C.UTF-8"));
        atexit(at_end);
        opened = tmpfile();
        fputs("written early\n", opened);
        signal(SIGUSR2, handler);
        omp_set_num_threads(3);
        omp_set_schedule(omp_sched_guided, 7);
        omp_set_max_active_levels(5);
#pragma omp parallel num_threads(2) reduction(+ : region_members)
        region_members += 1;
    }
} before;

int main()
{
    CHECK_EQ(plain, 1);
    CHECK_EQ(loop.value, 2);
    CHECK(loop.self == &loop);
    CHECK(text == "begun before main");
    CHECK_EQ((int)numbers.size(), 4);
    CHECK(pthread_getspecific(key) == &region_members);
    CHECK(pthread_equal(first, pthread_self()));
    CHECK(MB_CUR_MAX > 1);
    CHECK(std::locale().name() == "C.UTF-8");
    CHECK_EQ(omp_get_max_threads(), 3);
    CHECK_EQ(omp_get_max_active_levels(), 5);
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ((int)kind, (int)omp_sched_guided);
    CHECK_EQ(chunk, 7);
    rewind(opened);
    char line[32];
    CHECK(fgets(line, sizeof line, opened) && std::string(line) == "written early\n");
    raise(SIGUSR2);
    CHECK_EQ((int)signals_seen, 1);

    // The stack of the thread is the one it is said to have.
    pthread_attr_t attributes;
    void* base;
    size_t bytes;
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    CHECK_EQ(pthread_attr_getstack(&attributes, &base, &bytes), 0);
    CHECK((char*)&base >= (char*)base && (char*)&base < (char*)base + bytes);
    pthread_attr_destroy(&attributes);

    // Other threads have their own, copies where asked for, and reach the first one's.
    int members = 0, got = 0, fresh = 0, sum = 0;
    int* of_first = &plain;
    std::string& text_of_first = text;
#pragma omp parallel copyin(copied) reduction(+ : members, got, fresh, sum)
    {
        members += 1;
        got += copied == 4;
        fresh += omp_get_thread_num() == 0 ? plain == 1 : plain == 0 && text == "begun";
        sum += *of_first;
#pragma omp barrier
#pragma omp critical
        {
            *of_first += 1;
            text_of_first += "!";
        }
    }
    CHECK_EQ(members, 3);
    CHECK_EQ(got, 3);
    CHECK_EQ(fresh, 3);
    CHECK_EQ(sum, 3);
    CHECK_EQ(plain, 4);
    CHECK(text == "begun before main!!!");
    CHECK(region_members >= 1);
    try {
        throw std::string("caught");
    } catch (const std::string& said) {
        printf("%s\n", said.c_str());
    }
    return check_result();
}
