//! Small kernels: what a scan says of them is what they do.

use crate::common::{Run, bodies, body, scanned};
use fathomp_regions::{
    AccessClass, ArithmeticKind, BodyKind, CallKind, Direction, ElementKind, Known, ScheduleKind,
};
use proptest::prelude::*;

const FLAGS: &[&str] = &["-O2", "-fopenmp"];

#[test]
fn a_product_of_matrices_is_three_loops() {
    let regions = scanned(
        "void f(int n, double *a, double *b, double *c) {\n\
         #pragma omp parallel for\n\
         for (int i = 0; i < n; i++)\n\
           for (int k = 0; k < n; k++)\n\
             for (int j = 0; j < n; j++)\n\
               c[(long)i * n + j] += a[(long)i * n + k] * b[(long)k * n + j];\n\
         }\n int main(void) { double x[1]; f(0, x, x, x); }\n",
        &["-O1", "-fopenmp"],
    );
    assert_eq!(regions.problems, Vec::<String>::new());
    let body = body(&regions, "f");
    assert_eq!(body.kind, BodyKind::Parallel);
    assert_eq!(body.loops.len(), 3);
    for threads in [1, 3, 8] {
        let all: i64 = (0..threads)
            .map(|t| Run::new(10, threads, t).executions(body)[0])
            .sum();
        assert_eq!(all, 10, "of {threads} threads");
    }
    assert_eq!(Run::new(10, 1, 0).executions(body), [10, 100, 1000]);
    let schedule = body.loops[0].worksharing.as_ref().unwrap();
    assert_eq!(schedule.kind, ScheduleKind::Static);
    let inner: Vec<_> = body
        .accesses
        .iter()
        .filter(|access| {
            access
                .inside
                .is_some_and(|id| body.loops[id.0 as usize].innermost)
        })
        .collect();
    let unit = inner
        .iter()
        .filter(|access| access.class == AccessClass::Unit);
    assert!(unit.count() >= 2, "{inner:#?}");
    for access in &inner {
        assert!(matches!(
            access.class,
            AccessClass::Unit | AccessClass::Invariant
        ));
        let Known::Known(address) = &access.address else {
            panic!("{access:#?}");
        };
        assert!(address.strides.len() >= 2);
    }
    let product = body
        .arithmetic
        .iter()
        .find(|sum| sum.kind == ArithmeticKind::Multiply && sum.element == ElementKind::Double);
    assert_eq!(
        product.map(|sum| (sum.lanes, sum.instructions)),
        Some((1, 1))
    );
    assert_eq!(body.coverage.trips.known, 3);
    let place = body.starts[0].place.as_ref().unwrap();
    assert!(
        place.file.ends_with("program.c") && place.line >= 1,
        "{place:?}"
    );
}

#[test]
fn patterns_have_their_classes() {
    let regions = scanned(
        "struct p { double x, y, z; };\n\
         void f(int n, int m, double *a, double *b, struct p *p, int *at, double *s) {\n\
         #pragma omp parallel for\n\
         for (int i = 0; i < n; i++) {\n\
           s[0] = 1;\n\
           a[i] = 2;\n\
           b[3 * i] = 3;\n\
           p[i].x = p[i].y + p[i].z;\n\
           a[at[i]] = 4;\n\
           b[(long)i * m] = 5;\n\
         } }\n int main(void) { f(0, 1, 0, 0, 0, 0, 0); }\n",
        &["-O1", "-fopenmp"],
    );
    let body = body(&regions, "f");
    let inside: Vec<_> = body
        .accesses
        .iter()
        .filter(|access| access.inside.is_some())
        .collect();
    let has = |class: &AccessClass, direction: Direction| {
        let mut all = inside.iter();
        all.any(|access| access.class == *class && access.direction == direction)
    };
    assert!(
        has(&AccessClass::Invariant, Direction::Write),
        "{inside:#?}"
    );
    assert!(has(&AccessClass::Unit, Direction::Write));
    assert!(has(&AccessClass::Strided(24), Direction::Write));
    assert!(has(&AccessClass::Dense, Direction::Read));
    assert!(has(&AccessClass::Unit, Direction::Read));
    assert!(has(&AccessClass::Indirect, Direction::Write));
    assert!(has(&AccessClass::SymbolicStride, Direction::Write));
    let dense: Vec<_> = inside
        .iter()
        .filter(|access| access.class == AccessClass::Dense)
        .collect();
    assert!(
        dense
            .iter()
            .all(|access| access.coverage == 1.0 && access.group == dense[0].group)
    );
}

#[test]
fn chunks_of_the_runtime_are_seen() {
    let regions = scanned(
        "void f(int n, double *a) {\n\
         #pragma omp parallel\n\
         {\n\
         #pragma omp for schedule(dynamic, 4) nowait\n\
         for (int i = 0; i < n; i++) a[i] += 1;\n\
         #pragma omp for schedule(guided, 2)\n\
         for (int i = 0; i < n; i++) a[i] += 1;\n\
         }\n\
         #pragma omp parallel for schedule(dynamic)\n\
         for (int i = 0; i < 1000; i++) a[i] += 1;\n\
         }\n int main(void) { f(0, 0); }\n",
        FLAGS,
    );
    let all = bodies(&regions);
    assert_eq!(all.len(), 2);
    let combined = all
        .iter()
        .find(|body| body.kind == BodyKind::ParallelLoop)
        .unwrap();
    assert_eq!(combined.starts[0].iterations, Some(1000));
    let body = all
        .iter()
        .find(|body| body.kind == BodyKind::Parallel)
        .unwrap();
    let schedules: Vec<_> = body
        .loops
        .iter()
        .filter_map(|one| one.worksharing.as_ref())
        .collect();
    let dynamic = schedules
        .iter()
        .find(|s| s.kind == ScheduleKind::Dynamic)
        .unwrap();
    let run = Run::new(20, 1, 0);
    assert_eq!(run.value(dynamic.chunk.as_ref().unwrap()), 4);
    assert_eq!(run.value(dynamic.total.as_ref().unwrap()), 20);
    let guided = schedules
        .iter()
        .find(|s| s.kind == ScheduleKind::Guided)
        .unwrap();
    assert_eq!(run.value(guided.total.as_ref().unwrap()), 20);
    // The loops over a chunk: from its start to its end.
    let inner = body.loops.iter().filter(|one| one.innermost);
    let trips: Vec<i64> = inner
        .map(|one| run.value(one.trips.known().unwrap()))
        .collect();
    assert_eq!(trips, [20, 20]);
}

#[test]
fn calls_have_kinds_and_local_ones_are_followed() {
    let regions = scanned(
        "#include <math.h>\n#include <stdio.h>\n\
         __attribute__((noinline)) static double g(double *x, int n) {\n\
           double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n\
         void f(int n, double *a, double *s) {\n\
         #pragma omp parallel\n\
         {\n\
           double t = g(a, n) + sin(a[0]);\n\
           #pragma omp critical\n\
           *s += t;\n\
           #pragma omp barrier\n\
           #pragma omp atomic\n\
           s[1] += t;\n\
         } }\n int main(void) { double x[2]; f(0, x, x); printf(\"%g\", x[0]); }\n",
        FLAGS,
    );
    let body = body(&regions, "f");
    let kinds: Vec<CallKind> = body.calls.iter().map(|call| call.kind).collect();
    for kind in [CallKind::Mutex, CallKind::Barrier, CallKind::Math] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert!(
        body.calls
            .iter()
            .any(|call| call.followed && call.kind == CallKind::Other)
    );
    // The callee's loop is part of it.
    assert!(Run::new(7, 2, 1).executions(body).contains(&7));
    assert!(!body.atomics.is_empty());
}

#[test]
fn tasks_sections_and_tail_calls_are_bodies() {
    let regions = scanned(
        "void t(double *a) {\n\
         #pragma omp task\n\
         a[0] = 1;\n\
         }\n\
         void s(double *a) {\n\
         #pragma omp parallel sections\n\
         {\n\
         #pragma omp section\n\
         a[0] = 1;\n\
         #pragma omp section\n\
         a[1] = 1;\n\
         } }\n\
         void p(double *a) {\n\
         #pragma omp parallel num_threads(3)\n\
         a[0] = 2;\n\
         }\n int main(void) { double x[2]; t(x); s(x); p(x); }\n",
        FLAGS,
    );
    let kinds: Vec<BodyKind> = bodies(&regions).iter().map(|body| body.kind).collect();
    for kind in [
        BodyKind::Task,
        BodyKind::ParallelSections,
        BodyKind::Parallel,
    ] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let parallel = body(&regions, "p");
    assert_eq!(parallel.starts[0].threads, Some(3));
}

#[test]
fn loops_that_end_by_data_are_not_known() {
    let regions = scanned(
        "void f(double *a, long *found) {\n\
         #pragma omp parallel\n\
         { long i = 0; while (a[i] < 1) i++; found[0] = i; }\n\
         }\n int main(void) { f(0, 0); }\n",
        FLAGS,
    );
    let body = body(&regions, "f");
    assert!(body.loops[0].trips.reason().is_some());
    assert_eq!((body.coverage.trips.known, body.coverage.trips.all), (0, 1));
    assert!(!body.coverage.unknown.is_empty());
}

#[test]
fn the_same_is_found_without_symbols() {
    let source = "void f(int n, double *a) {\n\
         #pragma omp parallel for\n\
         for (int i = 0; i < n; i++) a[i] += 1;\n\
         }\n int main(void) { f(0, 0); }\n";
    let with = scanned(source, FLAGS);
    let without = scanned(source, &["-O2", "-fopenmp", "-s"]);
    assert!(without.modules[0].stripped && !with.modules[0].stripped);
    assert_eq!(with.modules[0].coverage, without.modules[0].coverage);
    let fixed = scanned(source, &["-O2", "-fopenmp", "-no-pie", "-fno-pie"]);
    assert_eq!(with.modules[0].coverage, fixed.modules[0].coverage);
    let no_plt = scanned(source, &["-O2", "-fopenmp", "-fno-plt"]);
    assert_eq!(with.modules[0].coverage, no_plt.modules[0].coverage);
}

#[test]
fn what_cannot_be_scanned_is_said() {
    let none = scanned("int main(void) { return 0; }\n", &["-O2"]);
    assert!(none.regions.is_empty());
    assert!(
        none.problems[0].contains("contains no OpenMP"),
        "{:?}",
        none.problems
    );
    let error = fathomp_scan::scan_bytes("x".as_ref(), b"#!/bin/sh\n".to_vec()).unwrap_err();
    assert!(error.to_string().starts_with("x is no ELF"), "{error}");
    assert!(fathomp_scan::scan("/nowhere/x".as_ref()).is_err());
}

/// What the source of a kernel does with `n` and `threads` threads: bytes written in loops.
type Expected = fn(i64) -> i64;

const KERNELS: [(&str, Expected); 6] = [
    (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[(long)i * n + j] = i;",
        |n| n * n,
    ),
    (
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) a[(long)i * n + j] = i;",
        |n| n * (n + 1) / 2,
    ),
    (
        "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) a[(long)i * n + j] = i;",
        |n| n * (n + 1) / 2,
    ),
    (
        "for (int i = n - 1; i >= 0; i--) for (int j = n; j > 1; j -= 2) a[(long)i * n + j] = j;",
        |n| n * (n / 2),
    ),
    (
        "for (int i = 2; i < n; i += 3) for (int j = 0; j < i; j++) a[(long)i * n + j] = j;",
        |n| (2..n).step_by(3).sum(),
    ),
    (
        "for (int i = 0; i < n; i++) for (int j = 1; j < n - 1; j++) a[(long)i * n + j] = j;",
        |n| n * (n - 2).max(0),
    ),
];

fn kernel(index: usize, clause: &str) -> fathomp_regions::Regions {
    let source = format!(
        "void f(int n, volatile double *a) {{\n\
         #pragma omp parallel for {clause}\n\
         {}\n\
         }}\n int main(void) {{ f(0, 0); }}\n",
        KERNELS[index].0
    );
    scanned(&source, FLAGS)
}

#[test]
fn loops_run_as_often_as_the_source_says() {
    for (index, (source, expected)) in KERNELS.iter().enumerate() {
        let regions = kernel(index, "");
        let body = body(&regions, "f");
        let mut runner = proptest::test_runner::TestRunner::default();
        runner
            .run(&(0_i64..30, 1_i64..9), |(n, threads)| {
                let written: i64 = (0..threads)
                    .map(|t| Run::new(n, threads, t).written(body))
                    .sum();
                prop_assert_eq!(written, 8 * expected(n), "{} with n = {}", source, n);
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn chunks_in_turn_are_counted() {
    let regions = kernel(0, "schedule(static, 3)");
    let body = body(&regions, "f");
    for (n, threads) in [(0, 1), (1, 1), (10, 1), (12, 4), (13, 2), (29, 3)] {
        let written: i64 = (0..threads)
            .map(|t| Run::new(n, threads, t).written(body))
            .sum();
        assert_eq!(written, 8 * n * n, "n = {n}, {threads} threads");
    }
}

#[test]
fn collapsed_loops_are_counted() {
    let regions = kernel(0, "collapse(2)");
    let body = body(&regions, "f");
    for (n, threads) in [(1, 1), (10, 1), (12, 4), (13, 2)] {
        let written: i64 = (0..threads)
            .map(|t| Run::new(n, threads, t).written(body))
            .sum();
        // gcc takes the first iteration of each thread out of the loop.
        assert_eq!(written, 8 * (n * n - threads), "n = {n}, {threads} threads");
    }
    let classes: Vec<_> = body
        .accesses
        .iter()
        .filter(|a| a.inside.is_some())
        .collect();
    assert!(
        classes
            .iter()
            .all(|access| access.class == AccessClass::Unit),
        "{classes:#?}"
    );
}
