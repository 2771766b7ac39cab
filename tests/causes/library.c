/* Functions of the C library in which threads hinder each other. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

static long draw(long n) {
  long inside = 0;
#pragma omp parallel for reduction(+ : inside)
  for (long i = 0; i < n; i++) {
    double x = rand() / (double)RAND_MAX, y = rand() / (double)RAND_MAX;
    inside += x * x + y * y < 1.0;
  }
  return inside > 0;
}

static long write_lines(long n) {
  FILE *out = fopen("/dev/null", "w");
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    fputc('a' + i % 26, out);
  return fclose(out);
}

static long take_turns(long n) {
  long sum = 0;
#pragma omp parallel for
  for (long i = 0; i < n; i++) {
    pthread_mutex_lock(&door);
    sum += i & 1;
    pthread_mutex_unlock(&door);
  }
  return sum;
}

static long dates(long n) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; i++) {
    time_t at = i * 100;
    struct tm parts;
    localtime_r(&at, &parts);
    sum += parts.tm_min;
  }
  return sum;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "rand";
  long done = 0;
  if (!strcmp(what, "rand"))
    done = draw(20000000);
  if (!strcmp(what, "stream"))
    done = write_lines(60000000);
  if (!strcmp(what, "mutex"))
    done = take_turns(20000000);
  if (!strcmp(what, "dates"))
    done = dates(6000000);
  printf("%ld\n", done);
  return 0;
}
