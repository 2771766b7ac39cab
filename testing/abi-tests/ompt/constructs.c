/* Each construct once or so, in exported functions of its own, whose names the tool tells. */
#include <omp.h>
#include <stdio.h>

/* gcc's header and library have no such routine. */
extern int omp_control_tool(int command, int modifier, void *argument) __attribute__((weak));

/* Not 0 once the tool has begun, if it is in the program. */
extern int tool_has_begun __attribute__((weak));

static int has_begun(void) {
  return &tool_has_begun != NULL && tool_has_begun;
}

static volatile int sink;

/* Not inlined, so that code pointers lie in it. */
#define PLACE __attribute__((noinline))

PLACE void regions(void) {
  for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2)
    sink = i;
  }
}

PLACE void alone(int no) {
#pragma omp parallel if (no)
  sink = 1;
}

PLACE void nested(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp parallel num_threads(2)
    sink = 1;
  }
}

PLACE void shares(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 8; i++) sink = i;
#pragma omp for schedule(guided) nowait
    for (int i = 0; i < 8; i++) sink = i;
#pragma omp barrier
#pragma omp sections
    {
#pragma omp section
      sink = 1;
#pragma omp section
      sink = 2;
    }
#pragma omp single
    sink = 3;
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < 4; i++) {
#pragma omp ordered
      sink = i;
    }
  }
}

PLACE void excludes(void) {
  for (int i = 0; i < 5; i++) {
#pragma omp critical
    sink = i;
#pragma omp critical(named)
    sink = i;
  }
}

PLACE void locks(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_set_lock(&lock);
  omp_unset_lock(&lock);
  omp_destroy_lock(&lock);
  omp_init_nest_lock(&nest);
  omp_set_nest_lock(&nest);
  omp_set_nest_lock(&nest);
  omp_unset_nest_lock(&nest);
  omp_unset_nest_lock(&nest);
  omp_destroy_nest_lock(&nest);
}

PLACE void tasks(int no) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    int chain = 0;
    for (int i = 0; i < 6; i++) {
#pragma omp task
      sink = i;
    }
#pragma omp task if (no)
    sink = 6;
#pragma omp taskwait
#pragma omp taskgroup
    {
#pragma omp task depend(out : chain)
      chain = 1;
#pragma omp task depend(in : chain)
      sink = chain;
    }
#pragma omp taskloop num_tasks(4)
    for (int i = 0; i < 16; i++) sink = i;
#pragma omp taskyield
  }
}

PLACE int commands(void) {
  return omp_control_tool(1, 7, (void *)&sink);
}

int main(void) {
  int early = has_begun();
  omp_set_max_active_levels(2);
  omp_set_dynamic(0);
  regions();
  alone(0);
  nested();
  shares();
  excludes();
  locks();
  tasks(0);
  printf("control %d\n", commands());
#ifdef __clang__
  /* clang asks for the thread's number where a function with a construct begins. */
#pragma omp taskyield
  if (has_begun() && !early) printf("the tool has begun late\n");
#endif
  (void)early;
  return 0;
}
