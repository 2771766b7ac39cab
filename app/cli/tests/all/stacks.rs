//! Threads whose stacks run out: told from other faults, named with a size that
//! would do, and ended as they would have been without us.

use crate::common::{self, Ended, compile, fathomp, finish, run};
use std::path::Path;
use std::process::{Command, Stdio};

/// Crashes in the way that its first argument names, on the thread that the
/// second names: `serial` code, the `initial` thread or a `worker` of a region,
/// a thread of its own (`program`). A third installs a handler: `plain`, or
/// with a stack of its `own`.
const CRASH: &str = r#"
#include <alloca.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
NOINLINE long deep(long n)
{
    volatile char bytes[200];
    bytes[0] = n;
    return n == 0 ? 0 : deep(n + 1) + bytes[0];
}
NOINLINE double frame(void)
{
    volatile double array[3 << 20];
    for (long i = 0; i < 3 << 20; i += 100)
        array[i] = i;
    return array[77];
}
NOINLINE int dynamic(size_t bytes)
{
    char *array = alloca(bytes);
    memset(array, 1, bytes);
    return array[bytes / 2];
}
static const char *how;
static volatile long wild = 64;
static int crash(void)
{
    char here;
    switch (*how) {
    case 'r': return deep(1);
    case 'f': return frame();
    case 'd': return dynamic(24 << 20);
    case 'n': *(volatile char *)wild = 1; break;
    case 'b': *(volatile char *)((long)&here - (1L << 40)) = 1; break;
    case 's': raise(SIGSEGV); break;
    }
    return 0;
}
static void handler(int signal)
{
    (void)signal;
    _exit(write(1, "handled\n", 8) == 8 ? 42 : 43);
}
static void *life(void *sum)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0)
        *(int *)sum += crash();
    return 0;
}
int main(int argc, char **argv)
{
    int sum = 0, where = argv[2][0];
    how = argv[1];
    if (argc > 3) {
        struct sigaction action = {0};
        action.sa_handler = handler;
        if (argv[3][0] == 'o') {
            stack_t stack = {0};
            stack.ss_sp = malloc(1 << 16);
            stack.ss_size = 1 << 16;
            sigaltstack(&stack, 0);
            action.sa_flags = SA_ONSTACK;
        }
        sigaction(SIGSEGV, &action, 0);
    }
    if (where == 's')
        sum = crash();
    if (where == 'p') {
        pthread_t thread;
        pthread_create(&thread, 0, life, &sum);
        pthread_join(thread, 0);
    }
#pragma omp parallel num_threads(2) reduction(+ : sum)
    if (omp_get_thread_num() == (where == 'w'))
        sum += crash();
    printf("%d\n", sum);
    return 0;
}
"#;

const SIGSEGV: i32 = 128 + 11;

/// A command under fathomp, with stacks of 8 MiB and without core dumps.
pub(crate) fn limited(directory: &Path, command: &str) -> Ended {
    let line = format!("ulimit -c 0; ulimit -s 8192; exec \"$0\" {command}");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &line, env!("CARGO_BIN_EXE_fathomp")])
        .current_dir(directory)
        .env("XDG_CACHE_HOME", common::cache())
        .env_remove("LD_PRELOAD")
        .env_remove("OMP_STACKSIZE")
        .stdin(Stdio::null());
    finish(&mut shell)
}

fn crash(directory: &Path, arguments: &str) -> Ended {
    limited(
        directory,
        &format!("run --threads 2 -- ./crash {arguments}"),
    )
}

/// The one sentence about a stack.
fn sentence(ended: &Ended) -> &str {
    let mut about = ended.stderr.lines().filter(|line| line.contains("stack"));
    let sentence = about
        .next()
        .unwrap_or_else(|| panic!("not a word: {ended:?}"));
    assert_eq!(about.next(), None, "{ended:?}");
    assert!(sentence.starts_with("fathomp: "), "{ended:?}");
    sentence
}

pub(crate) fn build(options: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let options = [&["-fopenmp", "-pthread"], options].concat();
    compile(directory.path(), "crash", CRASH, &options);
    directory
}

#[test]
fn the_thread_and_a_size_that_would_do_are_named() {
    for options in [&[][..], &["-fstack-clash-protection"]] {
        let directory = build(options);
        // Loops that probe each page of dynamic arrays do not say how far they go.
        let ways: &[&str] = if options.is_empty() {
            &["frame", "dynamic"]
        } else {
            &["frame"]
        };
        for how in ways {
            for (place, thread, setting) in [
                ("serial", "the initial thread", "`ulimit -s 32768`"),
                (
                    "initial",
                    "OpenMP thread 0, the initial thread,",
                    "`ulimit -s 32768`",
                ),
                ("worker", "OpenMP thread 1 ", "set OMP_STACKSIZE=32M"),
                (
                    "program",
                    "thread that the program had started",
                    "pthread_attr_setstacksize",
                ),
            ] {
                let ended = crash(directory.path(), &format!("{how} {place}"));
                assert_eq!(
                    ended.in_words().code,
                    Some(SIGSEGV),
                    "{how} {place} {ended:?}"
                );
                let said = sentence(&ended);
                for words in [thread, setting, "it had 8 MiB and needed 25 MiB"] {
                    assert!(said.contains(words), "{how} {place} {words}: {said}");
                }
            }
        }
    }
}

#[test]
fn the_size_that_is_named_does() {
    let directory = build(&[]);
    let said = crash(directory.path(), "frame worker");
    let words = "set OMP_STACKSIZE=";
    let said = sentence(&said);
    let at = said.find(words).unwrap() + words.len();
    let size: String = said[at..].chars().take_while(|c| *c != ',').collect();
    let mut command = fathomp(directory.path());
    command.args(["run", "--threads", "2", "--", "./crash", "frame", "worker"]);
    finish(command.env("OMP_STACKSIZE", size)).succeeded();
}

#[test]
fn recursion_without_end_is_called_so() {
    let directory = build(&[]);
    for place in ["serial", "initial", "worker", "program"] {
        let ended = crash(directory.path(), &format!("recursion {place}"));
        assert_eq!(ended.in_words().code, Some(SIGSEGV), "{ended:?}");
        let said = sentence(&ended);
        let words = "recursion without end, or more than 8 MiB needed; try ";
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn other_faults_are_not_called_so() {
    let directory = build(&[]);
    for how in ["null", "below", "sent"] {
        for place in ["serial", "initial", "worker"] {
            let ended = crash(directory.path(), &format!("{how} {place}"));
            assert_eq!(ended.in_words().code, Some(SIGSEGV), "{ended:?}");
            assert!(!ended.stderr.contains("stack"), "{how} {place} {ended:?}");
        }
    }
}

#[test]
fn handlers_of_the_program_get_what_they_got() {
    let directory = build(&[]);
    // As on any runtime: a handler runs for any fault on a stack that has room,
    // for one of the stack itself only where it has brought another.
    for (arguments, code) in [
        ("null worker plain", 42),
        ("null initial own", 42),
        ("sent worker plain", 42),
        ("frame initial plain", SIGSEGV),
        ("frame worker plain", SIGSEGV),
        ("frame initial own", 42),
        ("frame serial own", 42),
        ("frame worker own", SIGSEGV),
    ] {
        let without = Command::new("sh")
            .args(["-c", "ulimit -c 0; ulimit -s 8192; ./crash $0 $1 $2"])
            .args(arguments.split(' '))
            .current_dir(directory.path())
            .output()
            .unwrap();
        let ended = crash(directory.path(), arguments);
        assert_eq!(ended.in_words().code, Some(code), "{arguments} {ended:?}");
        assert_eq!(without.status.code(), Some(code), "{arguments}, without us");
        assert_eq!(ended.stdout, without.stdout, "{arguments}");
    }
}

#[test]
fn nobody_need_listen() {
    let directory = build(&[]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let line = "ulimit -c 0; ulimit -s 8192; exec \"$0\" run -- ./crash frame worker";
    let status = Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_fathomp")])
        .current_dir(directory.path())
        .env("XDG_CACHE_HOME", common::cache())
        .env_remove("OMP_STACKSIZE")
        .stderr(writer)
        .status();
    assert_eq!(status.unwrap().code(), Some(SIGSEGV));
}

#[test]
fn recordings_know_it() {
    let directory = build(&[]);
    let line = "record --force --threads 2 -- ./crash frame worker";
    let ended = limited(directory.path(), line);
    assert_eq!(ended.in_words().code, Some(SIGSEGV), "{ended:?}");
    let json = run(directory.path(), "--json regions recording").json();
    let overflow = &json["program"]["stack_overflow"];
    assert_eq!(overflow["thread"], 1, "{json}");
    assert_eq!(overflow["owner"], "worker");
    assert_eq!(overflow["had_bytes"], 8 << 20);
    let needed = overflow["needed_bytes"].as_u64().unwrap();
    assert!((24 << 20..26 << 20).contains(&needed), "{needed}");
    let problems = json["problems"].to_string();
    assert!(
        problems.contains("OpenMP thread 1 ran out of stack"),
        "{problems}"
    );
    // One that ended well has none.
    run(directory.path(), "record --force -- ./crash x initial").succeeded();
    let json = run(directory.path(), "--json regions recording").json();
    assert!(json["program"]["stack_overflow"].is_null(), "{json}");
}
