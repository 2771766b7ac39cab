/* Events whose kind matters more than their number, each as often as the test says. */
#include <omp.h>
#include <stdio.h>

static volatile int sink;

/* How tasks depend on a variable; a taskwait with dependences. */
static void dependences(void) {
  int item = 0, other = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(inout : item)
    item = 1;
#pragma omp task depend(mutexinoutset : other)
    other++;
#pragma omp task depend(mutexinoutset : other)
    other++;
#pragma omp taskwait depend(in : item) depend(in : other)
    sink = item + other;
  }
}

/* An event that is fulfilled in its task's code, and one that comes later. A team of one runs its
 * tasks at once. */
static void events(void) {
#pragma omp parallel num_threads(1)
  {
    omp_event_handle_t early, late;
#pragma omp task detach(early)
    omp_fulfill_event(early);
#pragma omp task detach(late)
    sink = 1;
    omp_fulfill_event(late);
#pragma omp taskwait
  }
}

/* 4 tasks for 16 iterations. */
static void loop_of_tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop num_tasks(4)
  for (int i = 0; i < 16; i++) sink = i;
}

/* In a nest of 2 by 3 each iteration but the first row waits for the one above it. */
static void doacross(void) {
#pragma omp parallel num_threads(2)
#pragma omp for ordered(2) schedule(static)
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) {
#pragma omp ordered depend(sink : i - 1, j)
      sink = i + j;
#pragma omp ordered depend(source)
    }
}

/* Two teams, in each of which a region has two members. */
static void league(void) {
#pragma omp teams num_teams(2)
#pragma omp parallel num_threads(2)
  sink = 1;
}

#ifdef __clang__
/* What each of two threads, or of two teams, is given at once. */
static void fixed(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp for schedule(static)
    for (int i = 0; i < 8; i++) sink = i;
#pragma omp sections
    {
#pragma omp section
      sink = 1;
#pragma omp section
      sink = 2;
    }
  }
#pragma omp teams num_teams(2)
#pragma omp distribute
  for (int i = 0; i < 8; i++) sink = i;
}

/* gcc's programs go on behind such a task when its event is fulfilled. */
static void undeferred(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    omp_event_handle_t late;
#pragma omp task detach(late) if (0)
    sink = 1;
    omp_fulfill_event(late);
#pragma omp taskwait
  }
}
#endif

int main(void) {
  omp_set_dynamic(0);
  dependences();
  events();
  loop_of_tasks();
  doacross();
  league();
#ifdef __clang__
  fixed();
  undeferred();
#endif
  printf("done\n");
  return 0;
}
