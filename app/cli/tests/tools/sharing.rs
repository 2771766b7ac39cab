//! `fathomp sharing`: every line that threads share is named, in the right way, and no
//! other.

use fathomp_requirements::{GFORTRAN, GXX};
use libtest_mimic::Trial;

use crate::common::{compile_with, fathomp, finish, run};
use std::path::Path;

/// A program, and what its threads share.
struct Case {
    name: &'static str,
    compiler: &'static str,
    source: &'static str,
    arguments: &'static [&'static str],
    nodes: &'static str,
    seconds: &'static str,
    /// Kind, name, and a part of it.
    shared: &'static [(&'static str, &'static str, &'static str)],
}

const PLAIN: Case = Case {
    name: "plain",
    compiler: "gcc",
    source: "",
    arguments: &[],
    nodes: "2",
    seconds: "60",
    shared: &[],
};

/// Counters by atomic instructions, a stride apart that the argument says: so many that
/// the program never comes to its end here.
const ATOMIC_COUNTERS: &str = r#"
#include <stdlib.h>
#include <omp.h>
static volatile long slots[4096] __attribute__((aligned(4096)));
int main(int argc, char **argv)
{
    int stride = argc > 1 ? atoi(argv[1]) : 1;
#pragma omp parallel
    for (long i = 0; i < 1000000000; i++)
        __atomic_fetch_add(slots + omp_get_thread_num() * stride, 1, __ATOMIC_RELAXED);
    return 0;
}
"#;

const CASES: &[Case] = &[
    Case {
        name: "atomics-near",
        source: ATOMIC_COUNTERS,
        arguments: &["1"],
        seconds: "2",
        shared: &[("false", "slots", "slots[1]")],
        ..PLAIN
    },
    Case {
        name: "atomics-far",
        source: ATOMIC_COUNTERS,
        arguments: &["64"],
        seconds: "2",
        ..PLAIN
    },
    Case {
        name: "atomics-same",
        source: r#"
static double bins[64];
int main(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 20000; i++) {
#pragma omp atomic
        bins[i * 7 % 64] += 1;
    }
    return bins[3] == 0;
}
"#,
        shared: &[("true", "bins", "bins[0]")],
        ..PLAIN
    },
    // Counters of each thread, in an array and far apart, and a reduction.
    Case {
        name: "globals",
        source: r#"
#include <omp.h>
long near[8], total;
struct { long n; char rest[120]; } far[8] __attribute__((aligned(128)));
int main(void)
{
    for (int round = 0; round < 3; round++) {
#pragma omp parallel
        for (int i = 0; i < 1000; i++) {
            ((volatile long *)near)[omp_get_thread_num()]++;
            (*(volatile long *)&far[omp_get_thread_num()].n)++;
        }
#pragma omp parallel for reduction(+ : total)
        for (int i = 0; i < 1000; i++)
            total += i;
    }
    return total == 0;
}
"#,
        shared: &[("false", "near", "near[0]")],
        ..PLAIN
    },
    Case {
        name: "heap",
        source: r#"
#include <omp.h>
#include <stdlib.h>
struct cell { long n; double x; };
struct wide { long n; char rest[120]; };
int main(void)
{
    int n = omp_get_max_threads();
    struct cell *cells = calloc(n, sizeof *cells);
    struct wide *wide = aligned_alloc(128, n * sizeof *wide);
    for (int i = 0; i < n; i++)
        wide[i].n = 0;
#pragma omp parallel
    for (int i = 0; i < 1000; i++) {
        (*(volatile double *)&cells[omp_get_thread_num()].x) += 0.5;
        (*(volatile long *)&wide[omp_get_thread_num()].n)++;
    }
    return cells[1].x == 0;
}
"#,
        shared: &[("false", "cells", "cells[1].x")],
        ..PLAIN
    },
    // Two variables that happen to lie in one line, and two that do not.
    Case {
        name: "scalars",
        source: r#"
#include <omp.h>
struct { int left, right; } pair __attribute__((aligned(64)));
int a __attribute__((aligned(64))), b;
struct { int c; char rest[124]; int d; } apart __attribute__((aligned(128)));
int main(void)
{
#pragma omp parallel
    for (int i = 0; i < 1000; i++)
        if (omp_get_thread_num() == 0) {
            (*(volatile int *)&pair.left)++;
            (*(volatile int *)&apart.c)++;
        } else {
            (*(volatile int *)&pair.right)++;
            (*(volatile int *)&apart.d)++;
        }
    return 0;
}
"#,
        shared: &[("false", "pair", "pair.right")],
        ..PLAIN
    },
    // Reads are seen by and by.
    Case {
        name: "reader",
        source: r#"
#include <omp.h>
struct { double table[4]; long counter; } mixed __attribute__((aligned(64))) = { { 1, 2, 3, 4 } };
struct { double table[8]; long counter; } split __attribute__((aligned(64))) = { { 1, 2, 3, 4 } };
int main(void)
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int i = 0; i < 200000000; i++)
        if (omp_get_thread_num() == 0) {
            (*(volatile long *)&mixed.counter)++;
            (*(volatile long *)&split.counter)++;
        } else
            sum += ((volatile double *)mixed.table)[i & 3] + ((volatile double *)split.table)[i & 3];
    return sum == 0;
}
"#,
        shared: &[("false", "mixed", "mixed.counter")],
        ..PLAIN
    },
    // The blocks of a static loop meet inside a line.
    Case {
        name: "blocks",
        source: r#"
static double grid[20001] __attribute__((aligned(4096)));
int main(void)
{
    for (int round = 0; round < 3; round++)
#pragma omp parallel for schedule(static)
        for (int i = 0; i < 20001; i++)
            grid[i] = grid[i] * 0.5 + i + 1;
    return grid[7] == 0;
}
"#,
        shared: &[("boundary", "grid", "grid[10000]")],
        ..PLAIN
    },
    Case {
        name: "locks",
        source: r#"
#include <omp.h>
long under_critical;
struct { long n; char rest[120]; } under_lock __attribute__((aligned(128)));
int main(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
    for (int i = 0; i < 100; i++) {
#pragma omp critical
        under_critical += 3;
        omp_set_lock(&lock);
        under_lock.n += 2;
        omp_unset_lock(&lock);
    }
    return under_critical == 0;
}
"#,
        shared: &[
            ("true", "under_critical", "under_critical"),
            ("true", "under_lock", "under_lock.n"),
        ],
        ..PLAIN
    },
    // Variables of the caller, on its stack, and four threads.
    Case {
        name: "stack",
        source: r#"
#include <omp.h>
int main(void)
{
    long own[16] = { 0 };
    double sum = 0;
    for (int round = 0; round < 3; round++)
#pragma omp parallel reduction(+ : sum)
        for (int i = 0; i < 1000; i++) {
            ((volatile long *)own)[4 + omp_get_thread_num()]++;
            sum += i;
        }
    return own[4] == 0 || sum == 0;
}
"#,
        nodes: "4",
        shared: &[("false", "own", "own[5]")],
        ..PLAIN
    },
    // Reductions of an array and of a number that no instruction adds to.
    Case {
        name: "reductions",
        source: r#"
int main(void)
{
    double sums[5] = { 0 };
    long double all = 0;
    for (int round = 0; round < 3; round++)
#pragma omp parallel for reduction(+ : sums, all)
        for (int i = 0; i < 1000; i++) {
            sums[i % 5] += i;
            all += i;
        }
    return sums[1] == 0 || all == 0;
}
"#,
        ..PLAIN
    },
    Case {
        name: "written in turn",
        source: r#"
#include <omp.h>
long turns[8];
int main(void)
{
#pragma omp parallel
    for (int round = 0; round < 20; round++) {
        if (round % omp_get_num_threads() == omp_get_thread_num())
            turns[omp_get_thread_num()]++;
#pragma omp barrier
    }
    return turns[0] == 0;
}
"#,
        ..PLAIN
    },
    Case {
        name: "fortran",
        compiler: "gfortran",
        source: "
program fortran
  use omp_lib
  implicit none
  integer, save :: counts(0:7)
  real(8), allocatable :: work(:)
  integer :: i, me, r
  allocate(work(8))
  counts = 0
  work = 0
  do r = 1, 3
    !$omp parallel private(me, i)
    me = omp_get_thread_num()
    do i = 1, 1000
      counts(me) = counts(me) + 1
      work(me + 1) = work(me + 1) + 0.5d0
    end do
    !$omp end parallel
  end do
  if (counts(0) == 0 .or. work(1) == 0) stop 1
end program
",
        shared: &[
            ("false", "counts", "counts(1)"),
            ("false", "work", "work(2)"),
        ],
        ..PLAIN
    },
    Case {
        name: "new",
        compiler: "g++",
        source: r#"
#include <omp.h>
#include <vector>
struct Cell { int a, b; };
int main()
{
    Cell *cells = new Cell[8]();
    std::vector<char> room(4096);
#pragma omp parallel
    for (int i = 0; i < 1000; i++)
        *(volatile int *)&cells[omp_get_thread_num()].b += 1;
    return cells[1].b == 0;
}
"#,
        shared: &[("false", "cells", "cells[1].b")],
        ..PLAIN
    },
];

fn found(at: &Path, case: &Case) -> serde_json::Value {
    let options = match case.compiler {
        "gfortran" => ["-O1", "-g", "-fopenmp"],
        _ => ["-O2", "-g", "-fopenmp"],
    };
    let name = case.name.replace(' ', "-");
    let program = compile_with(case.compiler, at, &name, case.source, &options);
    let mut command = fathomp(at);
    command.args(["sharing", "--json", "--nodes", case.nodes]);
    command.args(["--timeout", case.seconds, "--"]).arg(program);
    let ended = finish(command.args(case.arguments));
    ended.succeeded().json()
}

/// Kinds, names and parts of what costs something.
pub(crate) fn lines(found: &serde_json::Value) -> Vec<(String, String, Vec<String>)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let lines = found["lines"].as_array().expect("lines");
    let mut lines: Vec<_> = lines
        .iter()
        .filter(|line| line["kind"] != "read_mostly")
        .map(|line| {
            let kind = match line["boundary"] == true {
                true => "boundary".to_owned(),
                false => text(&line["kind"]),
            };
            let parts = line["parts"].as_array().into_iter().flatten();
            (kind, text(&line["name"]), parts.map(text).collect())
        })
        .collect();
    lines.sort();
    lines
}

fn what_threads_share_is_named_and_nothing_else() {
    check_cases(|compiler| compiler == "gcc");
}

fn so_it_is_in_cpp_and_fortran() {
    check_cases(|compiler| compiler != "gcc");
}

fn check_cases(with: impl Fn(&str) -> bool) {
    let directory = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let (mut right, mut expected) = (0, 0);
    for case in CASES.iter().filter(|case| with(case.compiler)) {
        let answer = found(directory.path(), case);
        let lines = lines(&answer);
        let mut ok = lines.len() == case.shared.len();
        for (kind, name, part) in case.shared {
            let is_it = |(k, n, parts): &&(String, String, Vec<String>)| {
                k == kind && n == name && parts.iter().any(|p| p == part)
            };
            let named = lines.iter().any(|line| is_it(&line));
            right += usize::from(named);
            expected += 1;
            ok &= named;
        }
        eprintln!("{}: found {lines:?}, expected {:?}", case.name, case.shared);
        if !ok {
            wrong.push(format!("{}: {answer:#}", case.name));
        }
    }
    eprintln!("{right} of {expected} found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn a_table_and_sentences_say_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let case = CASES.iter().find(|case| case.name == "globals").unwrap();
    compile_with("gcc", at, "prog", case.source, &["-O2", "-g", "-fopenmp"]);
    let ended = run(at, "sharing --threads 2 -- ./prog");
    let text = ended.succeeded().text();
    for words in [
        "2 threads on nodes of their own",
        "2 threads write different bytes of near[0] and near[1] in one cache line: false sharing",
        "True sharing: none was seen.",
        "Mend: Let each thread's part of near fill whole lines",
        "lock add",
    ] {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{words}: {text}");
    }
    // Without debug information the variable is named all the same.
    compile_with("gcc", at, "bare", case.source, &["-O2", "-fopenmp"]);
    let ended = run(at, "sharing --threads 2 -- ./bare");
    let text = ended.succeeded().text();
    assert!(text.contains("near"), "{ended:?}");
    assert!(ended.stderr.contains("build it with -g"), "{ended:?}");
}

fn the_program_keeps_its_code_and_nonsense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let source = "#include <stdio.h>\n#include <omp.h>\nint main(void)\n{\n#pragma omp parallel\n    omp_get_thread_num();\n    puts(\"said\");\n    return 3;\n}\n";
    compile_with("gcc", at, "three", source, &["-fopenmp"]);
    let ended = run(at, "sharing --nodes 2 -- ./three");
    assert_eq!(ended.in_words().code, Some(3), "{ended:?}");
    assert!(ended.text().starts_with("said\n"), "{ended:?}");
    assert!(ended.text().contains("False sharing: none was seen."));
    let ended = run(at, "sharing --nodes 1 -- ./three");
    assert_eq!(ended.in_words().code, Some(2), "{ended:?}");
    std::fs::write(at.join("script"), "#!/bin/sh\n./three\n").unwrap();
    let mut chmod = std::process::Command::new("chmod");
    assert!(
        chmod
            .arg("+x")
            .arg(at.join("script"))
            .status()
            .unwrap()
            .success()
    );
    run(at, "sharing -- ./script").refused(125, "name the compiled program");
    let plain = "int main(void) { return 0; }\n";
    compile_with("gcc", at, "plain", plain, &[]);
    let ended = run(at, "sharing -- ./plain");
    assert_eq!(ended.in_words().code, Some(125), "{ended:?}");
    assert!(ended.stderr.contains("never came to run on"), "{ended:?}");
}

fn a_study_reports_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let case = CASES.iter().find(|case| case.name == "globals").unwrap();
    compile_with("gcc", at, "prog", case.source, &["-O2", "-g", "-fopenmp"]);
    run(at, "study --threads 1,2 --sharing -- ./prog").succeeded();
    let page = |name: &str| std::fs::read_to_string(at.join(name)).unwrap();
    for name in ["report.html", "study/result.json", "study/sharing.json"] {
        assert!(page(name).contains("false sharing"), "{name}");
    }
    assert!(page("report.html").contains("<section id=\"sharing\""));
    run(at, "report study -o again.html").succeeded();
    assert!(page("again.html").contains("<section id=\"sharing\""));
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut all: Vec<_> = trials![
        "sharing",
        what_threads_share_is_named_and_nothing_else,
        a_table_and_sentences_say_it,
        the_program_keeps_its_code_and_nonsense_is_refused,
        a_study_reports_it,
    ]
    .into();
    all.extend(trials!["sharing", &[GXX, GFORTRAN] => so_it_is_in_cpp_and_fortran]);
    all
}
