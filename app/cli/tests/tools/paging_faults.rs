//! `fathomp record --paging --record-faults`: every page fault of real programs, what each was,
//! and what is said where the kernel tells nothing.

use crate::common::{self, Ended, compile, fathomp, finish};
use fathomp_faults::{FaultFacts, MappingKind, fault_facts};
use fathomp_paging::faults::{FILE, read};
use fathomp_paging::reader::Recording;
use fathomp_requirements::{Forbidden, if_permitted};
use fathomp_sys::perf::FaultRings;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        if_permitted(
            "paging_faults::faults_have_lines_variables_and_kinds",
            || {
                permitted()?;
                faults_have_lines_variables_and_kinds();
                Ok(())
            },
        ),
        if_permitted(
            "paging_faults::faults_of_children_and_threads_are_theirs",
            || {
                permitted()?;
                faults_of_children_and_threads_are_theirs();
                Ok(())
            },
        ),
        if_permitted("paging_faults::as_many_as_the_kernel_counts", || {
            permitted()?;
            as_many_as_the_kernel_counts();
            Ok(())
        }),
        if_permitted(
            "paging_faults::where_events_are_forbidden_that_is_said",
            || {
                where_events_are_forbidden_that_is_said();
                Ok(())
            },
        ),
    ]
}

fn permitted() -> Result<(), Forbidden> {
    match FaultRings::open(std::process::id()) {
        Ok(_) => Ok(()),
        Err(error) => Forbidden::because(error.to_string()),
    }
}

fn record(directory: &Path, program: &Path) -> (Ended, FaultFacts) {
    let mut command = fathomp(directory);
    command.args(["record", "--paging", "--record-faults", "--force"]);
    command.args(["-o", "recording", "--"]);
    let ended = finish(command.arg(program));
    ended.succeeded();
    let file = read(&directory.join("recording/paging").join(FILE)).unwrap();
    assert!(file.note().complete && file.damaged() == 0);
    (ended, fault_facts(&file))
}

/// Faults at lines of the program's source, first to last.
fn at_lines(facts: &FaultFacts, first: u32, last: u32) -> u64 {
    let rows = facts.lines.iter().filter(|row| {
        let file = row.place.file.as_deref().unwrap_or("");
        let line = row.place.line.unwrap_or(0);
        file.ends_with("touch.c") && (first..=last).contains(&line)
    });
    rows.map(|row| row.counts.total()).sum()
}

const TOUCH: &str = r#"#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>
static volatile char table[256 * 4096];
static void touch(char *p, int pages)
{
    for (int i = 0; i < pages; i++)
        p[i * 4096] = 1;
}
int main(void)
{
    for (int i = 0; i < 256; i++)
        table[i * 4096] = 1;
    char *p = mmap(0, 1000 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, 1000 * 4096, MADV_NOHUGEPAGE);
    touch(p, 1000);
    if (fork() == 0) {
        for (int i = 0; i < 300; i++)
            p[i * 4096] = 2;
        _exit(0);
    }
    wait(0);
    int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 64; i++)
        write(fd, p, 4096);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char *f = mmap(0, 64 * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    madvise(f, 64 * 4096, MADV_RANDOM);
    int sum = 0;
    for (int i = 0; i < 64; i++)
        sum += f[i * 4096];
    printf("%d\n", sum);
    return 0;
}
"#;

fn faults_have_lines_variables_and_kinds() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = compile(directory.path(), "touch", TOUCH, &["-g", "-fno-inline"]);
    let (_, facts) = record(directory.path(), &program);
    assert_eq!((facts.lost, facts.left_out), (0, 0));
    // The loops, wherever in them the compiler puts the store.
    let table = at_lines(&facts, 16, 17);
    assert!((250..=257).contains(&table), "{table}");
    assert_eq!(at_lines(&facts, 11, 12), 1000);
    let copied = at_lines(&facts, 22, 23);
    assert!((300..=301).contains(&copied), "{copied}");
    if facts.presence_known {
        assert!(facts.counts.copy_on_write >= 300, "{:?}", facts.counts);
    }
    let named = facts.variables.iter().find(|row| row.name == "table");
    let named = named.unwrap_or_else(|| panic!("{:#?}", facts.variables));
    assert!((250..=257).contains(&named.counts.total()), "{named:?}");
    let largest = &facts.mappings[0];
    assert_eq!(largest.kind, MappingKind::Anonymous, "{largest:?}");
    assert!(largest.counts.total() >= 1000);
    // Whether the file system drops pages when asked to is its own affair.
    if facts.counts.major > 0 {
        assert!(facts.waited_ns > 0);
    }
    assert!(facts.threads.iter().any(|thread| thread.program == "touch"));
    assert!(!facts.heat.rows.is_empty());
}

fn faults_of_children_and_threads_are_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
static char *p;
static void *half(void *arg)
{
    volatile char deep[64 * 4096];
    long first = (long)arg;
    for (int i = 0; i < 64; i++)
        deep[i * 4096] = 1;
    for (long i = first; i < first + 500; i++)
        p[i * 4096] = 1;
    return 0;
}
int main(void)
{
    p = mmap(0, 1000 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, 1000 * 4096, MADV_NOHUGEPAGE);
    pthread_t one, other;
    pthread_create(&one, 0, half, (void *)0);
    pthread_create(&other, 0, half, (void *)500);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
"#;
    let program = compile(directory.path(), "halves", source, &["-pthread"]);
    let (_, facts) = record(directory.path(), &program);
    let halves = facts
        .threads
        .iter()
        .filter(|row| row.counts.first_touch >= 560);
    assert_eq!(halves.count(), 2, "{:#?}", facts.threads);
    let stack = facts.variables.iter().find(|row| row.name == "stack");
    assert!(
        stack.unwrap().counts.total() >= 100,
        "{:#?}",
        facts.variables
    );
}

/// The interposer counts faults by the kernel's own counters, by another way.
fn as_many_as_the_kernel_counts() {
    use fathomp_paging::Counter;
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "touch", TOUCH, &["-g"]);
    let (_, facts) = record(directory.path(), &program);
    let recording = Recording::open(&directory.path().join("recording")).unwrap();
    let mut counted = 0;
    for task in recording.tasks() {
        let add = |interval: &fathomp_paging::Interval| {
            counted +=
                interval.counts[Counter::MinorFaults] + interval.counts[Counter::MajorFaults];
        };
        recording.visit(task.id, add).unwrap();
    }
    // The kernel's counters also count faults within system calls; the interposer begins to
    // count when the loader has mapped it.
    let seen = facts.counts.total();
    assert!(counted >= 1600 && seen >= 1600, "{counted} {seen}");
    let apart = counted.abs_diff(seen);
    assert!(apart < 600, "{counted} counted, {seen} seen");
}

/// Runs a program to which `perf_event_open` is forbidden as in a container.
const FORBID: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { 4, rules };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 99;
    execv(argv[1], argv + 1);
    return 98;
}
"#;

fn where_events_are_forbidden_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let forbid = compile(directory.path(), "forbid", FORBID, &[]);
    let mut command = Command::new(forbid);
    command
        .arg(env!("CARGO_BIN_EXE_fathomp"))
        .args(["record", "--paging", "--record-faults", "--sample", "1ms"])
        .args(["-o", "recording", "--", "sh", "-c", "sleep 0.1; true"])
        .env("XDG_CACHE_HOME", common::cache())
        .current_dir(directory.path());
    let ended = finish(&mut command);
    ended.succeeded();
    for words in [
        "Single page faults are not recorded",
        "sampled in /proc every 10ms",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {ended:?}");
    }
    let mends = ["--cap-add PERFMON", "sysctl"];
    assert!(
        mends.iter().any(|mend| ended.stderr.contains(mend)),
        "{ended:?}"
    );
    assert!(
        !directory
            .path()
            .join("recording/paging")
            .join(FILE)
            .exists()
    );
    assert!(
        !Recording::open(&directory.path().join("recording"))
            .unwrap()
            .tasks()
            .is_empty()
    );
}
