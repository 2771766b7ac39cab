// The affinity format: set, get, captured with every field.
#include "check.h"
#include <omp.h>
#include <unistd.h>

static void same(const char *format, const char *want)
{
    char text[200];
    size_t n = omp_capture_affinity(text, sizeof text, format);
    CHECK_EQ(n, strlen(want));
    if (strcmp(text, want) != 0) {
        fprintf(stderr, "format '%s': '%s' instead of '%s'\n", format, text, want);
        CHECK(!"the same text");
    }
}

int main(void)
{
    char text[300], want[300], host[200];
    CHECK(omp_get_affinity_format(NULL, 0) > 0);
    omp_set_affinity_format("n=%n");
    CHECK_EQ(omp_get_affinity_format(text, sizeof text), 4);
    CHECK(strcmp(text, "n=%n") == 0);
    CHECK_EQ(omp_get_affinity_format(text, 3), 4);
    CHECK(strcmp(text, "n=") == 0);
    same("", "n=0");
    same(NULL, "n=0");
    same("plain", "plain");
    same("%%", "%");
    same("%n/%N/%L/%t/%T", "0/1/0/0/1");
    same("%{thread_num} %{num_threads} %{nesting_level} %{team_num} %{num_teams}", "0 1 0 0 1");
    same("[%5n]", "[0    ]");
    same("[%.5n]", "[    0]");
    same("[%0.5n]", "[00000]");
    snprintf(want, sizeof want, "%d", (int)getpid());
    same("%P", want);
    gethostname(host, sizeof host);
    same("%H", host);
    same("%{host}", host);
    same("%a", "-1");
    CHECK(omp_capture_affinity(text, sizeof text, "%A") > 0);
    CHECK(omp_capture_affinity(text, sizeof text, "%i") > 0);
    // Truncation keeps the terminating zero and returns the full length.
    memset(text, 'x', sizeof text);
    CHECK_EQ(omp_capture_affinity(text, 4, "abcdefgh"), 8);
    CHECK(strcmp(text, "abc") == 0);
#pragma omp parallel num_threads(3)
    {
        char mine[50], expected[50];
        snprintf(expected, sizeof expected, "%d of %d at 1, parent 0", omp_get_thread_num(), 3);
        size_t n = omp_capture_affinity(mine, sizeof mine, "%n of %N at %L, parent %a");
        CHECK_EQ(n, strlen(expected));
        CHECK(strcmp(mine, expected) == 0);
    }
    // The format is everybody's, whoever asks.
    for (int round = 0; round < 3; round++) {
        snprintf(text, sizeof text, "round %d: %%n", round);
        omp_set_affinity_format(text);
#pragma omp parallel
        {
            char mine[50], expected[50];
            snprintf(expected, sizeof expected, "round %d: %d", round, omp_get_thread_num());
            omp_capture_affinity(mine, sizeof mine, NULL);
            CHECK(strcmp(mine, expected) == 0);
            omp_get_affinity_format(mine, sizeof mine);
            snprintf(expected, sizeof expected, "round %d: %%n", round);
            CHECK(strcmp(mine, expected) == 0);
        }
    }
    printf("ok\n");
    return check_result();
}
