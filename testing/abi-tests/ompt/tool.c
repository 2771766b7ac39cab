/* A first-party tool that checks what it is told: that events come in pairs and in order, that
 * data of threads, regions and tasks is what was put there, that code pointers and frames lie
 * where they may. When it ends it writes to the file that TEST_TOOL names
 *
 *   event NUMBER TIMES         how often each event was told
 *   at NUMBER FUNCTION TIMES   by the exported function that its code pointer lies in
 *   kind NUMBER KIND TIMES     what kind it was: flags of a created task, why a task is left, how
 *                              something is depended on, what is handed out
 *   wrong TEXT                 what was not so, at most once for each text
 */
#define _GNU_SOURCE
#include "ompt.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 256, KINDS = 256, WRONGS = 64, DEEP = 64 };

/* What the words hold: a kind, so that one is not taken for another, and a number. */
enum { THREAD = 1, REGION = 2, TASK = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counts[EVENTS];
static struct { int event; char name[64]; long times; } places[PLACES];
static struct { int event; unsigned kind; long times; } kinds[KINDS];
static const char *wrongs[WRONGS];
static int place_count, kind_count, wrong_count;
static const char *program;
/* Regions and tasks may come from other nodes, and no code of the program has called for them
 * here. */
static int on_nodes;

static uint64_t (*unique)(void);
static data *(*thread_data)(void);
static int (*state_of)(uint64_t *wait);
static int (*task_info)(int, int *, data **, frame **, data **, int *);
static int (*parallel_info)(int, data **, int *);

/* Scopes that are open on this thread, innermost last. */
static __thread struct { int event, kind; } open[DEEP];
static __thread int depth;
static __thread data *running;

static void wrong(const char *what) {
  pthread_mutex_lock(&lock);
  int known = 0;
  for (int i = 0; i < wrong_count; i++) known |= wrongs[i] == what;
  if (!known && wrong_count < WRONGS) wrongs[wrong_count++] = what;
  pthread_mutex_unlock(&lock);
}

#define CHECK(holds) do { if (!(holds)) wrong("line " LINE(__LINE__) ": " #holds); } while (0)
#define LINE(number) LINE2(number)
#define LINE2(number) #number

static void note(int event, const void *code) {
  Dl_info info;
  const char *name = "?";
  if (code != NULL && dladdr(code, &info) != 0) {
    CHECK(strcmp(info.dli_fname, program) == 0);
    if (info.dli_sname != NULL) name = info.dli_sname;
  }
  pthread_mutex_lock(&lock);
  counts[event]++;
  int i = 0;
  while (i < place_count && (places[i].event != event || strcmp(places[i].name, name) != 0)) i++;
  if (i < PLACES) {
    if (i == place_count) {
      places[i].event = event;
      snprintf(places[i].name, sizeof places[i].name, "%s", name);
      place_count++;
    }
    places[i].times++;
  }
  pthread_mutex_unlock(&lock);
}

static void note_kind(int event, unsigned kind) {
  pthread_mutex_lock(&lock);
  int i = 0;
  while (i < kind_count && (kinds[i].event != event || kinds[i].kind != kind)) i++;
  if (i < KINDS) {
    if (i == kind_count) {
      kinds[i].event = event;
      kinds[i].kind = kind;
      kind_count++;
    }
    kinds[i].times++;
  }
  pthread_mutex_unlock(&lock);
}

static void mark(data *word, int kind) {
  CHECK(word != NULL && word->value == 0);
  if (word != NULL) word->value = unique() << 4 | kind;
}

static int is(const data *word, int kind) { return word != NULL && (word->value & 15) == (unsigned)kind; }

static void begins(int event, int kind) {
  CHECK(depth < DEEP);
  if (depth == DEEP) return;
  open[depth].event = event;
  open[depth++].kind = kind;
}

static void ends(int event, int kind) {
  CHECK(depth > 0 && open[depth - 1].event == event && open[depth - 1].kind == kind);
  if (depth > 0) depth--;
}

static void scope(int event, int end, int kind) {
  CHECK(end == BEGIN || end == END);
  if (end == BEGIN) begins(event, kind); else ends(event, kind);
}

/* The running task is what the runtime says it is. */
static void known_task(const data *region, const data *task) {
  data *said = NULL, *said_region = NULL;
  int flags = 0, number = -1;
  CHECK(is(task, TASK) && is(region, REGION));
  CHECK(task_info(0, &flags, &said, NULL, &said_region, &number) == 2);
  CHECK(said == task && said_region == region && flags != 0 && number >= 0);
}

static void on_thread_begin(int kind, data *word) {
  note(THREAD_BEGIN, NULL);
  CHECK(kind == 1 || kind == 2);
  CHECK(thread_data() == word);
  mark(word, THREAD);
}

static void on_thread_end(data *word) {
  note(THREAD_END, NULL);
  CHECK(is(word, THREAD) && thread_data() == word && depth == 0);
}

static void on_parallel_begin(data *task, const frame *where, data *region, unsigned asked, int flags, const void *code) {
  note(PARALLEL_BEGIN, code);
  CHECK(is(task, TASK) && (where->enter_frame.ptr != NULL || on_nodes) && asked > 0 && (flags & 3) != 0);
  mark(region, REGION);
  begins(PARALLEL_BEGIN, 0);
}

static void on_parallel_end(data *region, data *task, int flags, const void *code) {
  note(PARALLEL_END, code);
  CHECK(is(region, REGION) && is(task, TASK) && (flags & 3) != 0);
  ends(PARALLEL_BEGIN, 0);
  running = task;
}

static void on_implicit(int end, data *region, data *task, unsigned size, unsigned number, int flags) {
  note(IMPLICIT_TASK, NULL);
  if (end == BEGIN) {
    mark(task, TASK);
    /* Teams of a league count from 0, and their region has begun. */
    int of_program = flags & 1 && size == 1 && number == 1;
    if (of_program) mark(region, REGION);
    CHECK(is(region, REGION) && size > 0 && (of_program || number < size));
    int said = 0;
    data *word = NULL;
    CHECK(parallel_info(0, &word, &said) == 2 && word == region);
    CHECK(said == (int)size || (flags & 1 && !of_program));
    running = task;
  } else {
    CHECK(is(task, TASK) && size == 0);
    CHECK(region == NULL || (flags & 1 && number == 1));
  }
  scope(IMPLICIT_TASK, end, flags & 3);
}

static void on_create(data *parent, const frame *where, data *task, int flags, int dependences, const void *code) {
  note(TASK_CREATE, code);
  CHECK((parent == NULL && on_nodes) ||
        (is(parent, TASK) && parent == running && where->enter_frame.ptr != NULL && code != NULL));
  note_kind(TASK_CREATE, (unsigned)flags);
  /* A taskwait with dependences is undeferred and mergeable. */
  CHECK(((flags & 0x14) == 4 && (dependences == 0 || dependences == 1)) ||
        ((unsigned)flags == 0x48000010 && dependences == 1));
  mark(task, TASK);
}

static void on_schedule(data *left, int status, data *entered) {
  note(TASK_SCHEDULE, NULL);
  note_kind(TASK_SCHEDULE, (unsigned)status);
  CHECK(is(left, TASK) && status >= 1 && status <= 8);
  if (status == 5 || status == 6 || status == 8) {
    /* An event is fulfilled, or a taskwait is over: the thread goes on with what it runs. */
    CHECK(entered == NULL);
    return;
  }
  CHECK(left == running && is(entered, TASK));
  running = entered;
}

static void on_dependences(data *task, const dependence *list, int count) {
  note(DEPENDENCES, NULL);
  CHECK(is(task, TASK) && count > 0);
  for (int i = 0; i < count; i++) {
    note_kind(DEPENDENCES, (unsigned)list[i].type);
    CHECK(list[i].type >= 1 && (list[i].variable.ptr != NULL || list[i].type == 5 || list[i].type == 6));
  }
}

static void on_dependence(data *before, data *task) {
  note(TASK_DEPENDENCE, NULL);
  CHECK(is(before, TASK) && is(task, TASK) && before != task);
}

static void on_work(int kind, int end, data *region, data *task, uint64_t count, const void *code) {
  note(WORK, code);
  CHECK(kind >= 1 && kind <= 13 && count > 0);
  known_task(region, task);
  scope(WORK, end, kind);
}

static void on_masked(int end, data *region, data *task, const void *code) {
  note(MASKED, code);
  known_task(region, task);
  scope(MASKED, end, 0);
}

static void on_sync(int event, int kind, int end, data *region, data *task, const void *code) {
  note(event, code);
  CHECK(is(task, TASK));
  if (end == BEGIN) known_task(region, task);
  scope(event, end, kind);
}

static void on_region(int kind, int end, data *region, data *task, const void *code) {
  on_sync(SYNC_REGION, kind, end, region, task, code);
}

static void on_wait(int kind, int end, data *region, data *task, const void *code) {
  uint64_t id = 0;
  CHECK(end == BEGIN || state_of(&id) != 0x102);
  on_sync(SYNC_REGION_WAIT, kind, end, region, task, code);
}

static void on_reduction(int kind, int end, data *region, data *task, const void *code) {
  on_sync(REDUCTION, kind, end, region, task, code);
}

static void on_acquire(int kind, unsigned hint, unsigned impl, uint64_t id, const void *code) {
  (void)hint, (void)impl;
  note(MUTEX_ACQUIRE, code);
  CHECK(kind >= 1 && kind <= 7 && id != 0);
}

static void on_acquired(int kind, uint64_t id, const void *code) {
  note(MUTEX_ACQUIRED, code);
  CHECK(kind >= 1 && kind <= 7 && id != 0);
}

static void on_released(int kind, uint64_t id, const void *code) {
  note(MUTEX_RELEASED, code);
  CHECK(kind >= 1 && kind <= 7 && id != 0);
}

static void on_lock(int kind, unsigned hint, unsigned impl, uint64_t id, const void *code) {
  (void)hint, (void)impl;
  note(LOCK_INIT, code);
  CHECK((kind == 1 || kind == 3) && id != 0);
}

static void on_destroy(int kind, uint64_t id, const void *code) {
  note(LOCK_DESTROY, code);
  CHECK((kind == 1 || kind == 3) && id != 0);
}

static void on_nest(int end, uint64_t id, const void *code) {
  note(NEST_LOCK, code);
  CHECK((end == BEGIN || end == END) && id != 0);
}

static void on_flush(data *thread, const void *code) {
  note(FLUSH, code);
  CHECK(is(thread, THREAD) && thread == thread_data());
}

static void on_cancel(data *task, int flags, const void *code) {
  note(CANCEL, code);
  CHECK(is(task, TASK) && (flags & 15) != 0 && (flags & 0x70) != 0);
}

static void on_dispatch(data *region, data *task, int kind, data instance) {
  note(DISPATCH, NULL);
  note_kind(DISPATCH, (unsigned)kind);
  known_task(region, task);
  CHECK(kind >= 1 && kind <= 5 && instance.ptr != NULL);
  CHECK(kind < 3 || ((const chunk *)instance.ptr)->iterations > 0);
}

static int on_control(uint64_t command, uint64_t modifier, void *argument, const void *code) {
  note(CONTROL_TOOL, code);
  CHECK(modifier == 7 && argument != NULL);
  return (int)command + 1;
}

int tool_has_begun;

static int initialize(lookup_function lookup, int device, data *tool) {
  (void)device, (void)tool;
  tool_has_begun = 1;
  int (*set)(int, function) = (int (*)(int, function))lookup("ompt_set_callback");
  int (*get)(int, function *) = (int (*)(int, function *))lookup("ompt_get_callback");
  unique = (uint64_t(*)(void))lookup("ompt_get_unique_id");
  thread_data = (data * (*)(void)) lookup("ompt_get_thread_data");
  state_of = (int (*)(uint64_t *))lookup("ompt_get_state");
  task_info = (int (*)(int, int *, data **, frame **, data **, int *))lookup("ompt_get_task_info");
  parallel_info = (int (*)(int, data **, int *))lookup("ompt_get_parallel_info");
  CHECK(lookup("ompt_no_such_function") == NULL);
  struct { int event; function told; } all[] = {
    {THREAD_BEGIN, (function)on_thread_begin}, {THREAD_END, (function)on_thread_end},
    {PARALLEL_BEGIN, (function)on_parallel_begin}, {PARALLEL_END, (function)on_parallel_end},
    {TASK_CREATE, (function)on_create}, {TASK_SCHEDULE, (function)on_schedule},
    {IMPLICIT_TASK, (function)on_implicit}, {CONTROL_TOOL, (function)on_control},
    {SYNC_REGION_WAIT, (function)on_wait}, {MUTEX_RELEASED, (function)on_released},
    {DEPENDENCES, (function)on_dependences}, {TASK_DEPENDENCE, (function)on_dependence},
    {WORK, (function)on_work}, {MASKED, (function)on_masked}, {SYNC_REGION, (function)on_region},
    {LOCK_INIT, (function)on_lock}, {LOCK_DESTROY, (function)on_destroy},
    {MUTEX_ACQUIRE, (function)on_acquire}, {MUTEX_ACQUIRED, (function)on_acquired},
    {NEST_LOCK, (function)on_nest}, {FLUSH, (function)on_flush}, {CANCEL, (function)on_cancel},
    {REDUCTION, (function)on_reduction}, {DISPATCH, (function)on_dispatch},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    function back = NULL;
    CHECK(set(all[i].event, all[i].told) >= 3);
    CHECK(get(all[i].event, &back) == 1 && back == all[i].told);
  }
  function none = NULL;
  /* Devices are not there, and no event has number 99. */
  CHECK(set(12, (function)on_flush) == 2 && set(99, (function)on_flush) == 0 && get(12, &none) == 0);
  on_nodes = getenv("FATHOMP_NODES") != NULL;
  Dl_info info;
  void *symbol = dlsym(RTLD_DEFAULT, "main");
  if (symbol != NULL && dladdr(symbol, &info) != 0) program = info.dli_fname;
  return 1;
}

static void finalize(data *tool) {
  (void)tool;
  const char *path = getenv("TEST_TOOL");
  FILE *file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return;
  for (int i = 0; i < EVENTS; i++)
    if (counts[i] != 0) fprintf(file, "event %d %ld\n", i, counts[i]);
  for (int i = 0; i < place_count; i++)
    fprintf(file, "at %d %s %ld\n", places[i].event, places[i].name, places[i].times);
  for (int i = 0; i < kind_count; i++)
    fprintf(file, "kind %d %u %ld\n", kinds[i].event, kinds[i].kind, kinds[i].times);
  for (int i = 0; i < wrong_count; i++) fprintf(file, "wrong %s\n", wrongs[i]);
  fclose(file);
}

start_result *ompt_start_tool(unsigned version, const char *runtime) {
  static start_result result = {initialize, finalize, {0}};
  return version >= 201611 && runtime != NULL && getenv("TEST_TOOL") != NULL ? &result : NULL;
}
