//! Nodes that die, or end the program: no process is left, and what happened is
//! said in one sentence.

use crate::common::{
    self, alive, compile, fathomp, fault_schemes, finish, on_nodes, processes, run, until,
};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// Looks, so far apart, within which all nodes must end if one is dead: two seconds. On a
/// machine that is busy with other things each look waits for a processor, as nodes do.
const LOOKS: u32 = 400;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Runs until it is killed: `death MODE MEMBER`.
const DEATH: &str = r#"
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { COUNT = 1 << 20 };
static double data[COUNT];
static omp_lock_t lock;
static int pids[8];
static int flag;
static void linger(void) { for (;;) pause(); }
static void outlast(void) { printf("%d\n", pids[2]); fflush(stdout); linger(); }
static void handle(int signal) { _exit(3); }
static volatile char *block;
/* Far behind the block's end, and the end of all, as on one machine. */
static void run_off(void) { for (long i = 0; i < 1600000; i++) block[8000 + i] = 1; }
static void say(void) { printf("%d\n", (int)getpid()); fflush(stdout); }
int main(int argc, char **argv)
{
    const char *mode = argv[1];
    int victim = atoi(argv[argc - 1]);
    omp_init_lock(&lock);
    block = malloc(8000);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        pids[me] = (int)getpid();
#pragma omp barrier
        if (strcmp(mode, "leaving") == 0) {
        } else if (strcmp(mode, "computing") == 0) {
            if (me == victim) say();
            for (volatile double x = 0;;) x += 1;
        } else if (strcmp(mode, "at-a-barrier") == 0) {
            if (me == victim) say();
            else for (volatile double x = 0;;) x += 1;
        } else if (strcmp(mode, "awaited") == 0) {
            if (me == victim) for (say();;) pause();
        } else if (strcmp(mode, "holding-a-lock") == 0) {
            if (me == victim) omp_set_lock(&lock);
#pragma omp barrier
            if (me == victim) for (say();;) pause();
            omp_set_lock(&lock);
        } else if (strcmp(mode, "faulting") == 0) {
            if (me == victim) say();
            for (;;) {
                for (int i = me * 8; i < COUNT; i += 512) data[i] += 1;
#pragma omp barrier
            }
        } else if (strcmp(mode, "reading") == 0) {
            double *own = data + COUNT / all * me;
            double *others = data + COUNT / all * ((me + 1) % all);
            if (me == victim) say();
            for (double sum = 0;;) {
                for (int i = 0; i < COUNT / all; i += 64) sum += others[i];
#pragma omp barrier
                for (int i = 0; i < COUNT / all; i += 64) own[i] = sum;
#pragma omp barrier
            }
        } else if (strcmp(mode, "locking") == 0) {
            for (me == victim ? say() : (void)0;;) {
                omp_set_lock(&lock);
                data[0] += 1;
                omp_unset_lock(&lock);
            }
        } else if (strcmp(mode, "awaiting-a-flag") == 0) {
            if (me == victim) say();
            while (!*(volatile int *)&flag);
        } else if (strcmp(mode, "deadlock") == 0) {
            if (me == victim) omp_set_lock(&lock);
#pragma omp barrier
            if (me == 0) say();
            if (me != victim) omp_set_lock(&lock);
        } else if (strcmp(mode, "no-turn") == 0) {
            if (me == 0) say();
#pragma omp for ordered(1) schedule(static, 1)
            for (int i = 0; i < 2; i++) {
#pragma omp ordered depend(sink : i - 1)
                if (i > 0) {
#pragma omp ordered depend(source)
                }
            }
        } else if (strcmp(mode, "standing") == 0) {
            if (me == victim) for (say(); access("go", F_OK) != 0;) usleep(1000);
        } else if (strcmp(mode, "ending") == 0) {
            if (me == 0) atexit(outlast);
#pragma omp barrier
            if (me == 1) exit(9);
            for (;;) pause();
        } else if (me == victim) {
            if (strcmp(mode, "abort") == 0) abort();
            if (strcmp(mode, "segv") == 0) *(volatile int *)8 = 1;
            // The page below the first stack of node 0.
            if (strcmp(mode, "handled") == 0)
                for (int i = 0; i < 2; i++) signal(i ? SIGBUS : SIGSEGV, handle);
            if (strcmp(mode, "stray") == 0 || strcmp(mode, "handled") == 0)
                *(volatile int *)0x300000000004 = 1;
            if (strcmp(mode, "own-heap") == 0) block = malloc(8000);
            if (strstr(mode, "heap")) run_off();
            if (strcmp(mode, "exit") == 0) { printf("bye\n"); exit(9); }
        }
#pragma omp barrier
    }
    if (strcmp(mode, "leaving") == 0) {
        atexit(linger);
        printf("%d\n", pids[victim]);
        return 0;
    }
    printf("after\n");
    return 0;
}
"#;

fn death(directory: &Path) -> PathBuf {
    compile(directory, "death", DEATH, &["-fopenmp", "-g"])
}

/// Whether no thread of a process wants a processor.
fn rests(process: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let sleeps = |thread: fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap();
        let (_, state) = stat.rsplit_once(") ").unwrap();
        state.starts_with('S')
    };
    threads.flatten().all(sleeps)
}

/// The process number that the program says.
fn victim(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// Waits until nobody is left of a run one of whose nodes has been killed, which must not
/// take long. How the command ended, and what it said.
fn end(mut child: Child, program: &Path, case: &str) -> (Option<i32>, String) {
    let mut status: Option<ExitStatus> = None;
    let gone = (0..LOOKS).any(|_| {
        thread::sleep(BETWEEN_LOOKS);
        status = status.or_else(|| child.try_wait().unwrap());
        status.is_some() && alive(program) == 0
    });
    for left in processes(program) {
        common::send("KILL", &left);
    }
    let status = common::wait(&mut child);
    let mut said = String::new();
    child.stderr.unwrap().read_to_string(&mut said).unwrap();
    assert!(gone, "{case}: some outlived it: {said}");
    (status.code(), said)
}

/// Kills a node while it is up to something, and looks at what is left.
fn kill(directory: &Path, program: &Path, case: Case) {
    let Case {
        protocol,
        faults,
        nodes,
        mode,
        victim: number,
        doing,
    } = case;
    let nodes = nodes.to_string();
    let mut child = fathomp(directory)
        .args(["record", "--force", "-o", "kept", "--nodes", &nodes])
        .args([
            "--threads",
            "1",
            "--dsm",
            protocol,
            "--fault-detection",
            faults,
            "--",
        ])
        .arg(program)
        .args([mode, &number.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let process = victim(&mut child);
    thread::sleep(Duration::from_millis(50));
    if matches!(mode, "at-a-barrier" | "leaving") {
        // It says so before it is there, and others may have the processors.
        until("the node waits", || rests(&process));
    }
    common::send("KILL", &process);
    let (code, said) = end(child, program, &format!("{case:?}"));
    let words = format!("fathomp: node {number}: its process was killed by signal 9");
    let told: Vec<&str> = said.lines().filter(|l| l.contains("signal 9")).collect();
    assert_eq!(told.len(), 1, "{case:?}: {said}");
    assert!(told[0].starts_with(&words), "{case:?}: {said}");
    if number == 0 {
        // What the shell sees is what happened to the program.
        assert_eq!(code, Some(137), "{case:?}: {said}");
    } else {
        assert_eq!(code, Some(70), "{case:?}: {said}");
        assert!(told[0].contains(doing), "{case:?}: {said}");
    }
    let regions = run(directory, "regions kept");
    assert!(regions.succeeded().text().contains("death.c:"), "{case:?}");
}

#[derive(Clone, Copy, Debug)]
struct Case {
    protocol: &'static str,
    faults: &'static str,
    nodes: u32,
    mode: &'static str,
    victim: u32,
    doing: &'static str,
}

fn kill_at_everything(protocol: &'static str) {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    let mut schemes = fault_schemes().iter().cycle();
    let mut case = Case {
        protocol,
        faults: "",
        nodes: 3,
        mode: "",
        victim: 0,
        doing: "",
    };
    for (mode, doing) in [
        ("computing", "while it computed"),
        ("at-a-barrier", "while it waited at a barrier"),
        ("awaited", "while it computed"),
        ("holding-a-lock", "while it held a lock"),
        ("faulting", "while it "),
        ("reading", "while it "),
        ("locking", "while it "),
        ("awaiting-a-flag", "while it computed"),
        ("leaving", "while it waited at a barrier or for work"),
    ] {
        (case.mode, case.doing) = (mode, doing);
        for victim in 0..3 {
            // By turns, so that each protocol meets both in each place.
            case.faults = schemes.next().unwrap_or(&"mprotect");
            kill(directory.path(), &program, Case { victim, ..case });
        }
    }
    let many = Case {
        nodes: 8,
        mode: "faulting",
        victim: 5,
        doing: "while it ",
        ..case
    };
    kill(directory.path(), &program, many);
}

#[test]
fn nobody_outlives_a_node_that_is_killed() {
    kill_at_everything("home");
}

#[test]
fn nobody_outlives_a_node_that_is_killed_where_pages_have_no_homes() {
    kill_at_everything("homeless");
}

#[test]
fn nobody_outlives_a_node_that_is_killed_at_its_start() {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    for wanted in [2, 3] {
        let child = on_nodes(directory.path(), 3, &program)
            .args(["computing", "2"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("there are nodes", || alive(&program) >= wanted);
        let numbers = processes(&program);
        let numbers = numbers.iter().filter_map(|n| n.parse::<u32>().ok());
        // Whoever was forked last has the highest number, unless they wrap.
        common::send("KILL", &numbers.max().unwrap().to_string());
        let (code, said) = end(child, &program, "at its start");
        assert!(matches!(code, Some(70 | 137)), "{said}");
        assert!(
            said.contains("its process was killed by signal 9"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn nobody_outlives_a_node_that_is_killed_while_another_ends_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    let mut child = on_nodes(directory.path(), 3, &program)
        .args(["ending", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    common::send("KILL", &victim(&mut child));
    let (code, said) = end(child, &program, "ending");
    assert_eq!(code, Some(70), "{said}");
    assert!(
        said.starts_with("fathomp: node 2: its process was killed by signal 9"),
        "{said}"
    );
}

#[test]
fn a_node_that_was_stopped_is_named_and_may_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    let mut child = on_nodes(directory.path(), 3, &program)
        .args(["standing", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let line = |from: &mut dyn BufRead| {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        line
    };
    let process = line(&mut stdout);
    common::send("STOP", process.trim());
    let said = line(&mut stderr);
    assert!(
        said.starts_with("fathomp: node 1: its process was stopped by signal 19"),
        "{said}"
    );
    common::send("CONT", process.trim());
    fs::write(directory.path().join("go"), "").unwrap();
    assert_eq!(line(&mut stdout), "after\n");
    assert_eq!(common::wait(&mut child).code(), Some(0));
    assert_eq!(line(&mut stderr), "");
}

#[test]
fn nodes_that_wait_for_each_other_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    let told = |mode: &str, all: &str| {
        let mut child = on_nodes(directory.path(), 2, &program)
            .args([mode, "1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let process = victim(&mut child);
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut said).unwrap();
        common::send("KILL", &process);
        common::wait(&mut child);
        let end = format!("{all}: the program may have a deadlock\n");
        assert!(said.ends_with(&end), "{mode}: {said}");
    };
    // At once: each of them does nothing for as long as it takes to be noticed.
    thread::scope(|scope| {
        scope.spawn(|| {
            told(
                "deadlock",
                "node 0 while it waited for a lock, \
                 node 1 while it waited at a barrier or for work",
            );
        });
        // An iteration that another depends on never says that it is done.
        told(
            "no-turn",
            "node 0 while it waited at a barrier or for work, \
             node 1 while it waited for others in a worksharing construct",
        );
    });
}

#[test]
fn deaths_of_their_own_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    for (mode, signal) in [("abort", 6), ("segv", 11)] {
        for victim in 0..2 {
            let victim_name = victim.to_string();
            let ended = finish(on_nodes(directory.path(), 2, &program).args([mode, &victim_name]));
            let code = if victim == 0 { 128 + signal } else { 70 };
            assert_eq!(ended.code, Some(code), "{mode} {victim}: {ended:?}");
            let words = format!("node {victim}: its process was killed by signal {signal}");
            assert!(ended.stderr.contains(&words), "{ended:?}");
            until("all nodes are gone", || alive(&program) == 0);
        }
    }
}

#[test]
fn an_access_that_ends_a_node_is_told_unless_the_program_handles_it() {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    for scheme in fault_schemes() {
        let signal = if *scheme == "userfault" { 7 } else { 11 };
        let ends = |mode: &str| {
            let mut command = fathomp(directory.path());
            command.args(["run", "--nodes", "2", "--threads", "1"]);
            command
                .args(["--fault-detection", scheme, "--"])
                .arg(&program);
            finish(command.args([mode, "1"]))
        };
        let ended = ends("stray");
        let lines: Vec<_> = ended.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{ended:?}");
        let access = "fathomp: node 1: a thread of the program writes address 0x300000000004 \
                      by the instruction at 0x";
        assert!(lines[0].starts_with(access), "{ended:?}");
        let place = "which is in the page that catches overflows of a stack of node 0's";
        assert!(lines[0].ends_with(place), "{ended:?}");
        let died = format!("fathomp: node 1: its process was killed by signal {signal} (");
        assert!(lines[1].starts_with(&died), "{ended:?}");
        let ended = ends("handled");
        let lines: Vec<_> = ended.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{ended:?}");
        // The node sets its handler by itself.
        assert!(
            lines[0].contains("the other nodes do not follow"),
            "{ended:?}"
        );
        let left = "fathomp: node 1: its process ended with exit code 3 ";
        assert!(lines[1].starts_with(left), "{ended:?}");
    }
}

#[test]
fn nothing_can_be_written_behind_all_blocks_of_the_heap() {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    let cases = [
        ("node-0s-heap", 0, 0),
        ("node-0s-heap", 1, 0),
        ("own-heap", 1, 1),
    ];
    for (scheme, protocol) in fault_schemes()
        .iter()
        .zip(["home", "homeless"].iter().cycle())
    {
        for (mode, by, owner) in cases {
            let mut command = fathomp(directory.path());
            command.args(["run", "--nodes", "2", "--threads", "1", "--dsm", protocol]);
            command
                .args(["--fault-detection", scheme, "--"])
                .arg(&program);
            let ended = finish(command.args([mode, &by.to_string()]));
            let code = if by == 0 { 128 + 11 } else { 70 };
            assert_eq!(ended.code, Some(code), "{mode} {by}: {ended:?}");
            let access = format!("node {by}: a thread of the program writes address 0x2");
            let place = format!("which is behind all that node {owner} has ever allocated\n");
            let died = format!("node {by}: its process was killed by signal 11");
            for words in [access, place, died] {
                assert!(ended.stderr.contains(&words), "{words}: {ended:?}");
            }
        }
    }
}

#[test]
fn exit_on_any_node_ends_the_program_with_its_code() {
    let directory = tempfile::tempdir().unwrap();
    let program = death(directory.path());
    for victim in ["0", "1", "2"] {
        let ended = finish(on_nodes(directory.path(), 3, &program).args(["exit", victim]));
        assert_eq!(ended.code, Some(9), "{ended:?}");
        assert_eq!(ended.text(), "bye\n");
        assert_eq!(ended.stderr, "");
    }
}
