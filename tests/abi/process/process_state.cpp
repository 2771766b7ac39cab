// fathomp: clang leaves std::cout in its library, where each node has one of its own
// What the program changes in its process is so for all threads of the next region.
#include "check.h"
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <locale>
#include <new>
#include <omp.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t seen = 0;
#pragma omp threadprivate(seen)
static void count(int) { seen = seen + 1; }
static void nothing() { }

static bool is(const char* name, const char* value)
{
    const char* found = getenv(name);
    return value == nullptr ? found == nullptr : found != nullptr && strcmp(found, value) == 0;
}

static void (*handler_of(int signal))(int)
{
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    return action.sa_handler;
}

static std::string folder()
{
    char path[4096];
    return getcwd(path, sizeof path) == nullptr ? "" : path;
}

// Checks on each thread of a region that `what` holds.
#define EVERYWHERE(what) \
    do { \
        int holds = 0, members = 0; \
        _Pragma("omp parallel reduction(+ : holds, members)") \
        { \
            bool held; \
            _Pragma("omp critical") held = (what); \
            holds += held; \
            members += 1; \
        } \
        CHECK_EQ(holds, members); \
    } while (0)

int main()
{
    EVERYWHERE(is("FATHOMP_TEST_A", nullptr));

    const std::string begin = folder();
    CHECK_EQ(chdir("/usr"), 0);
    CHECK_EQ(chdir("lib"), 0);
    EVERYWHERE(folder().find("lib") != std::string::npos);
    CHECK_EQ(chdir(begin.c_str()), 0);
    EVERYWHERE(folder() == begin);

    setenv("FATHOMP_TEST_A", "1", 1);
    setenv("FATHOMP_TEST_A", "2", 0);
    setenv("FATHOMP_TEST_B", "x=y", 1);
    char put[] = "FATHOMP_TEST_C=put";
    putenv(put);
    EVERYWHERE(is("FATHOMP_TEST_A", "1") && is("FATHOMP_TEST_B", "x=y") && is("FATHOMP_TEST_C", "put"));
    unsetenv("FATHOMP_TEST_A");
    setenv("FATHOMP_TEST_B", "", 1);
    EVERYWHERE(is("FATHOMP_TEST_A", nullptr) && is("FATHOMP_TEST_B", ""));

    umask(027);
    umask(077);
    EVERYWHERE((umask(077) == 077));

    setlocale(LC_ALL, "C.UTF-8");
    setlocale(LC_NUMERIC, "C");
    EVERYWHERE(MB_CUR_MAX > 1 && strcmp(setlocale(LC_NUMERIC, nullptr), "C") == 0
        && strcmp(setlocale(LC_CTYPE, nullptr), "C.UTF-8") == 0);

    signal(SIGUSR1, count);
    struct sigaction action = {};
    action.sa_handler = count;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
    EVERYWHERE(handler_of(SIGUSR1) == count && handler_of(SIGALRM) == count
        && handler_of(SIGPIPE) == SIG_IGN && handler_of(SIGUSR2) == SIG_DFL);
    int raised = 0, members = 0;
#pragma omp parallel reduction(+ : raised, members)
    {
        seen = 0;
        raise(SIGUSR1);
        raise(SIGALRM);
        raised += seen;
        members += 1;
    }
    CHECK_EQ(raised, 2 * members);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    EVERYWHERE(handler_of(SIGUSR1) == SIG_DFL && handler_of(SIGPIPE) == SIG_DFL);

    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 200;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    struct rlimit found;
    EVERYWHERE((getrlimit(RLIMIT_NOFILE, &found), found.rlim_cur == 200));

    std::set_new_handler(nothing);
    std::set_terminate(nothing);
    std::locale::global(std::locale("C.UTF-8"));
    std::cout.precision(3);
    EVERYWHERE(std::get_new_handler() == nothing && std::get_terminate() == nothing
        && std::locale().name() == "C.UTF-8" && std::cout.precision() == 3);
    std::set_new_handler(nullptr);
    std::locale::global(std::locale::classic());
    EVERYWHERE(std::get_new_handler() == nullptr && std::locale() == std::locale::classic());

    omp_set_affinity_format("mine %n");
    omp_set_num_teams(5);
    omp_set_teams_thread_limit(7);
    char format[64];
    EVERYWHERE((omp_get_affinity_format(format, sizeof format), strcmp(format, "mine %n") == 0)
        && omp_get_max_teams() == 5 && omp_get_teams_thread_limit() == 7);

    clearenv();
    setenv("FATHOMP_TEST_D", "alone", 1);
    EVERYWHERE(is("FATHOMP_TEST_B", nullptr) && is("PATH", nullptr) && is("FATHOMP_TEST_D", "alone"));
    printf("ok\n");
    return check_result();
}
