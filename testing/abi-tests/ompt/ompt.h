/* What these tests use of OMPT, as version 5.1 of OpenMP declares it; gcc brings no header. */
#include <stddef.h>
#include <stdint.h>

typedef union {
  uint64_t value;
  void *ptr;
} data;

typedef struct {
  data exit_frame, enter_frame;
  int exit_flags, enter_flags;
} frame;

typedef struct {
  data variable;
  int type;
} dependence;

typedef struct {
  uint64_t start, iterations;
} chunk;

typedef void (*function)(void);
typedef function (*lookup_function)(const char *name);

typedef struct {
  int (*initialize)(lookup_function lookup, int device, data *tool);
  void (*finalize)(data *tool);
  data tool;
} start_result;

enum {
  THREAD_BEGIN = 1, THREAD_END, PARALLEL_BEGIN, PARALLEL_END, TASK_CREATE, TASK_SCHEDULE,
  IMPLICIT_TASK, CONTROL_TOOL = 11, SYNC_REGION_WAIT = 16, MUTEX_RELEASED, DEPENDENCES,
  TASK_DEPENDENCE, WORK, MASKED, SYNC_REGION = 23, LOCK_INIT, LOCK_DESTROY, MUTEX_ACQUIRE,
  MUTEX_ACQUIRED, NEST_LOCK, FLUSH, CANCEL, REDUCTION, DISPATCH, EVENTS
};

enum { BEGIN = 1, END = 2 };
