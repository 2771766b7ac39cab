//! Programs on several nodes: streams, signals and memory as in one process, and
//! what cannot be is said.

use crate::common::{self, alive, compile, finish, on_nodes, run, until};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// A program that is asked to stop, and how it answers.
const STOPPED: &str = r#"
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile sig_atomic_t asked;
static void stop(int signal) { asked = signal; }
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "gracefully") == 0) {
        signal(SIGINT, stop);
        signal(SIGTERM, stop);
    }
    int on = 1, sum = 0;
    printf("ready\n");
    fflush(stdout);
    while (on) {
#pragma omp parallel reduction(+ : sum)
        sum++;
        on = !asked;
    }
    printf("%s\n", sum % 3 == 0 ? "stopped" : "wrong");
    return 4;
}
"#;

#[test]
fn it_is_the_program_that_is_asked_to_stop() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "stopped", STOPPED, &["-fopenmp"]);
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        for group in [false, true] {
            for how in ["at-once", "gracefully"] {
                let mut command = on_nodes(directory.path(), 3, &program);
                command.arg(how).process_group(0);
                let child = common::until_ready(&mut command);
                let sign = if group { "-" } else { "" };
                common::send(signal, &format!("{sign}{}", child.id()));
                let ended = common::collect(child);
                let expected = match how {
                    "at-once" => (128 + number, ""),
                    _ => (4, "stopped\n"),
                };
                let text = ended.text();
                let found = (ended.code.unwrap_or(-1), &*text);
                // fathomp itself says that it was interrupted; nodes say nothing.
                assert_eq!(found, expected, "{signal} {group} {how}: {ended:?}");
                assert!(!ended.stderr.contains("node"), "{ended:?}");
                until("all nodes are gone", || alive(&program) == 0);
            }
        }
    }
}

#[test]
fn a_reader_that_has_had_enough_ends_the_program_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <omp.h>
#include <stdio.h>
int main(void)
{
    int last = omp_get_max_threads() - 1;
    printf("ready\n");
    for (;;) {
#pragma omp parallel
        if (omp_get_thread_num() == last)
            printf("more\n");
    }
}
"#;
    let program = compile(directory.path(), "endless", source, &["-fopenmp"]);
    for nodes in [2, 3] {
        let mut child = common::until_ready(&mut on_nodes(directory.path(), nodes, &program));
        drop(child.stdout.take());
        let status = common::wait(&mut child);
        let mut said = String::new();
        child.stderr.unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(141), ""));
        until("all nodes are gone", || alive(&program) == 0);
    }
}

#[test]
fn lines_of_all_nodes_are_whole_and_node_0_has_the_input() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(
        directory.path(),
        "lines",
        r#"
#include <omp.h>
#include <stdio.h>
int main(void)
{
    int repeat = 0;
    if (scanf("%d", &repeat) != 1)
        return 1;
#pragma omp parallel
    for (int i = 0; i < repeat; i++)
        printf("member %d says line number %d to the end\n", omp_get_thread_num(), i);
    fprintf(stderr, "done\n");
    return 5;
}
"#,
        &["-fopenmp"],
    );
    let mut child = on_nodes(directory.path(), 3, &program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"2000\n").unwrap();
    let ended = common::collect(child);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(5), "done\n"));
    let mut lines: Vec<_> = ended.text().lines().map(str::to_owned).collect();
    lines.sort();
    let mut expected: Vec<_> = (0..3)
        .flat_map(|member| {
            (0..2000).map(move |i| format!("member {member} says line number {i} to the end"))
        })
        .collect();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn input_is_read_on_node_0_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int number = 0;
    char byte;
#pragma omp parallel
    if (omp_get_thread_num() == 1) {
        if (argc > 1 && strcmp(argv[1], "scanf") == 0) scanf("%d", &number);
        if (argc > 1 && strcmp(argv[1], "read") == 0) number = (int)read(0, &byte, 1);
    }
    return scanf("%d", &number) == 1 ? number : 100;
}
"#;
    let program = compile(directory.path(), "reads", source, &["-fopenmp"]);
    for (how, code) in [("", 7), ("scanf", 70), ("read", 70)] {
        let mut child = on_nodes(directory.path(), 2, &program)
            .arg(how)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"7\n8\n").unwrap();
        let ended = common::collect(child);
        assert_eq!(ended.code, Some(code), "{how}: {ended:?}");
        let words = "node 1: the program reads its standard input here";
        assert_eq!(ended.stderr.contains(words), code == 70, "{ended:?}");
    }
}

#[test]
fn what_nodes_cannot_run_is_refused_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let source = "#include <unistd.h>\n#include <omp.h>\nint main(void) { int n = 0;\n#pragma omp parallel reduction(+ : n)\n n++;\n return fork() == 0 ? 0 : n; }";
    let program = compile(directory.path(), "forks", source, &["-fopenmp"]);
    let line = format!("run --nodes 2 -- {}", program.display());
    run(directory.path(), &line).refused(70, "fork");

    let source = "#include <stdio.h>\nstatic void each(void (*f)(int)) { for (int i = 0; i < 3; i++) f(i); }\nint main(void) { int n = 0;\n void add(int i) { n += i; }\n void (*volatile f)(int) = add; each(f);\n#pragma omp parallel\n n++;\n return 0; }";
    let program = compile(directory.path(), "nested", source, &["-fopenmp"]);
    let line = format!("run --nodes 2 -- {}", program.display());
    run(directory.path(), &line).refused(1, "runs code on its stack");

    let source = "int main(void) { return 0; }\nvoid GOMP_parallel(void) {}";
    let program = compile(directory.path(), "own", source, &[]);
    let line = format!("run --nodes 2 -- {}", program.display());
    run(directory.path(), &line).refused(126, "OpenMP runtime of its own");
}

/// A command under a limit of the shell's.
fn limited(limit: &str, command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(format!("ulimit {limit} && exec \"$0\" \"$@\""))
        .arg(command.get_program())
        .args(command.get_args())
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null());
    shell
}

#[test]
fn a_limit_on_addresses_is_named_with_what_lifts_it() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "stopped", STOPPED, &["-fopenmp"]);
    let command = on_nodes(directory.path(), 2, &program);
    let ended = finish(&mut limited("-v 4194304", &command));
    ended.refused(1, "4096 MiB of them");
    ended.refused(1, "ulimit -v unlimited");
}

/// What is shared, 20 MiB, lies on the stack of the program's first thread.
const LARGE_STACK: &str = "
#include <stdio.h>
int main(void)
{
    double rows[160][16384];
    double sum = 0;
    #pragma omp parallel for
    for (int i = 0; i < 160; i++)
        for (int k = 0; k < 16384; k++)
            rows[i][k] = i;
    for (int i = 0; i < 160; i++)
        sum += rows[i][16383];
    printf(\"%g\\n\", sum);
    return 0;
}
";

#[test]
fn the_first_thread_has_the_stack_that_the_system_lets_it_have() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "large", LARGE_STACK, &["-fopenmp"]);
    for limit in ["-s 32768", "-s unlimited"] {
        let mut command = on_nodes(directory.path(), 2, &program);
        command.env("OMP_STACKSIZE", "256k");
        let ended = finish(&mut limited(limit, &command));
        assert_eq!(ended.succeeded().text(), "12720\n", "{limit}");
    }
}

#[test]
fn what_runs_on_one_node_alone_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let source = "int main(void) { return 3; }";
    let program = compile(directory.path(), "serial", source, &[]);
    let ended = finish(&mut on_nodes(directory.path(), 2, &program));
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("it runs in one process"), "{ended:?}");

    let source = "#include <omp.h>\nint team(void) { int n = 0;\n#pragma omp parallel reduction(+ : n)\n n++;\n return n; }";
    let flags = ["-fopenmp", "-shared", "-fPIC"];
    compile(directory.path(), "libteam.so", source, &flags);
    let source = "int team(void);\nint main(void) { return team(); }";
    let link = [
        format!("-L{}", directory.path().display()),
        format!("-Wl,-rpath,{}", directory.path().display()),
    ];
    let mut flags = vec![link[0].as_str(), link[1].as_str(), "-lteam"];
    let program = compile(directory.path(), "calls", source, &flags);
    let ended = finish(&mut on_nodes(directory.path(), 2, &program));
    assert!(
        ended.stderr.contains("its libraries use OpenMP"),
        "{ended:?}"
    );
    flags.extend(["-fopenmp", "-Wl,--no-as-needed"]);
    let program = compile(directory.path(), "both", source, &flags);
    let ended = finish(&mut on_nodes(directory.path(), 2, &program));
    let warnings = ended.stderr.matches("whose code lies in a library").count();
    assert_eq!((ended.code, warnings), (Some(2), 1), "{ended:?}");
}

#[test]
fn what_other_nodes_do_not_follow_is_said_once() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <omp.h>
#include <stdlib.h>
#include <sys/stat.h>
int main(void)
{
    umask(022);
    setenv("SET_OUTSIDE", "yes", 1);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(2)
        {
            umask(022);
            if (omp_get_thread_num() == NODE)
                setenv("SET_INSIDE", "yes", 1);
        }
    }
    return 0;
}
"#;
    let said = [
        "setenv was called inside a region: the other nodes follow when the next one begins",
        "setenv was called inside a region on node 1: the other nodes do not follow",
    ];
    for (node, said) in said.iter().enumerate() {
        let flags = ["-fopenmp", &format!("-DNODE={node}")];
        let program = compile(directory.path(), "inside", source, &flags);
        let ended = finish(&mut on_nodes(directory.path(), 2, &program));
        let lines = ended.stderr.lines().count();
        assert_eq!((ended.code, lines), (Some(0), 1), "{ended:?}");
        assert!(ended.stderr.contains(said), "{ended:?}");
    }
}

#[test]
fn instructions_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <omp.h>
int counter;
__attribute__((noinline)) void odd(void)
{
    __asm__ volatile("jmp 1f\n .byte 0x06\n 1: lock incl %0" : "+m"(counter));
}
int main(void)
{
#pragma omp parallel num_threads(1)
    odd();
    return counter;
}
"#;
    let program = compile(directory.path(), "odd", source, &["-fopenmp"]);
    let ended = finish(&mut on_nodes(directory.path(), 2, &program));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let warnings = ended.stderr.matches("(in odd) look like an atomic").count();
    assert_eq!(warnings, 1, "{ended:?}");
}

/// Not ordered by OpenMP: on one machine the slow block would come too late. NPB's
/// CG in C++ counts on fast ones.
#[test]
fn loops_that_wait_in_a_way_that_cannot_be_told_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <stdio.h>
static volatile int ready;
static int data;
__attribute__((noinline)) static void await(void)
{
#ifdef ODD
    __asm__ volatile("1: movslq %0, %%rcx\n jrcxz 1b" : : "m"(ready) : "rcx", "memory");
#else
    while (!ready)
        ;
#endif
#ifdef FLUSHES
#pragma omp flush
#endif
}
int main(void)
{
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            data = 7;
            ready = 1;
        }
#pragma omp section
        {
            await();
            printf("%d\n", data);
        }
    }
    return 0;
}
"#;
    let here = directory.path();
    let odd = compile(here, "odd", source, &["-fopenmp", "-DODD"]);
    let plain = compile(here, "plain", source, &["-fopenmp"]);
    let flushes = compile(here, "flushes", source, &["-fopenmp", "-DODD", "-DFLUSHES"]);
    let named = |command: &mut Command| {
        let ended = finish(command);
        assert_eq!(ended.succeeded().text(), "7\n");
        let words = "(in await) waits for a variable, and no flush follows";
        ended.stderr.matches(words).count()
    };
    assert_eq!(named(&mut on_nodes(here, 2, &odd)), 1);
    assert_eq!(named(&mut on_nodes(here, 2, &plain)), 0);
    assert_eq!(named(&mut on_nodes(here, 2, &flushes)), 0);
    let mut said = on_nodes(here, 2, &odd);
    assert_eq!(named(said.env("FATHOMP_DSM_LOADS", "acquire")), 0);
}

#[test]
fn what_a_single_block_writes_is_there_for_those_who_update_it_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <omp.h>
#include <stdio.h>
#include <unistd.h>
static long counted, summed, locked;
static double wrong;
int main(void)
{
#pragma omp parallel
    for (int round = 1; round <= 20; round++) {
#pragma omp single nowait
        {
            usleep(500);
            counted = 0;
        }
#pragma omp atomic
        counted += round;
#pragma omp barrier
#pragma omp single nowait
        {
            usleep(500);
            summed = locked = 0;
        }
#pragma omp for reduction(+ : summed) nowait
        for (int i = 0; i < 30; i++)
            summed += i;
#pragma omp critical
        locked += round;
#pragma omp barrier
        if (counted != 3 * round || summed != 435 || locked != 3 * round)
#pragma omp atomic
            wrong++;
#pragma omp barrier
    }
    printf("%g wrong\n", wrong);
    return 0;
}
"#;
    let program = compile(directory.path(), "zeroed", source, &["-fopenmp"]);
    let ended = finish(&mut on_nodes(directory.path(), 3, &program));
    assert_eq!(ended.succeeded().text(), "0 wrong\n");

    // Who waits for the block must not be waited for by it.
    let source = r#"
#include <omp.h>
#include <stdio.h>
static long sum, flag;
int main(void)
{
#pragma omp parallel num_threads(2)
    {
        int mine = 0;
#pragma omp single nowait
        {
            sum = 5;
            mine = 1;
        }
        if (mine) {
            long seen = 0;
            while (!seen)
#pragma omp atomic read
                seen = flag;
        } else {
#pragma omp atomic
            sum++;
#pragma omp atomic write
            flag = 1;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
"#;
    let program = compile(directory.path(), "awaited", source, &["-fopenmp"]);
    let ended = finish(&mut on_nodes(directory.path(), 2, &program));
    assert_eq!(ended.succeeded().text(), "6\n");
}

/// A fault that is blocked would kill.
#[test]
fn signals_that_were_blocked_before_still_serve_faults() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "large", LARGE_STACK, &["-fopenmp"]);
    for scheme in [None, Some("mprotect")] {
        let mut command = on_nodes(directory.path(), 2, &program);
        command.envs(scheme.map(|scheme| ("FATHOMP_DSM_FAULTS", scheme)));
        let environment = command.get_envs();
        let mut blocked = Command::new("env");
        let signals = ["BUS", "SEGV", "TRAP"].map(|signal| format!("--block-signal={signal}"));
        blocked
            .args(signals)
            .arg(command.get_program())
            .args(command.get_args())
            .envs(environment.filter_map(|(name, value)| Some((name, value?))));
        let ended = finish(&mut limited("-s 32768", &blocked));
        assert_eq!(ended.succeeded().text(), "12720\n", "{scheme:?}");
    }
}

#[test]
fn signal_handlers_run_on_nodes() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile sig_atomic_t ticks;
static int sums[4096];
static void tick(int signal) { (void)signal; ticks++; sums[ticks % 4096]++; }
int main(void)
{
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    long total = 0;
    for (int round = 0; round < 200 || ticks < 20; round++) {
#pragma omp parallel for reduction(+ : total)
        for (int i = 0; i < 4096; i++)
            total += sums[i] >= 0;
    }
    printf("%s\n", total % 4096 == 0 ? "right" : "wrong");
    return 0;
}
"#;
    let program = compile(directory.path(), "ticks", source, &["-fopenmp"]);
    let ended = finish(&mut on_nodes(directory.path(), 2, &program));
    assert_eq!(ended.succeeded().text(), "right\n");

    // Handlers that wait for pages come while pages and blocks are served.
    let source = r#"
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
enum { NOTES = 64, WORKS = 256, PAGE = 1024 };
static volatile sig_atomic_t ticks;
static int notes[NOTES * PAGE], works[WORKS * PAGE];
static void tick(int signal) { (void)signal; ticks++; notes[ticks % NOTES * PAGE]++; }
int main(void)
{
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 100}, {0, 100}}, never = {0};
    setitimer(ITIMER_REAL, &every, NULL);
    long wrong = 0;
    for (int round = 1; round <= 300; round++) {
#pragma omp parallel for
        for (int i = 0; i < WORKS; i++) {
            int *block = malloc(100 + 16 * i);
            works[i * PAGE]++;
            free(block);
        }
        for (int i = 0; i < WORKS; i++)
            wrong += works[i * PAGE] != round;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    long noted = 0;
    for (int i = 0; i < NOTES; i++)
        noted += notes[i * PAGE];
    printf("%ld wrong, %ld not noted\n", wrong, ticks - noted);
    return 0;
}
"#;
    let program = compile(directory.path(), "noted", source, &["-fopenmp"]);
    let ended = finish(&mut on_nodes(directory.path(), 2, &program));
    assert_eq!(ended.succeeded().text(), "0 wrong, 0 not noted\n");
}
