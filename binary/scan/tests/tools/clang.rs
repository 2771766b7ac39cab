//! Programs of clang: what a scan says of their regions and loops.

use crate::common::{Run, bodies, compile_by};
use fathomp_regions::{Body, BodyKind, Regions, ScheduleKind};
use fathomp_requirements::{CLANG, with_tools};
use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        with_tools("clang::equal_shares", &[CLANG], equal_shares),
        with_tools("clang::chunks_in_turn", &[CLANG], chunks_in_turn),
        with_tools("clang::chunks_on_request", &[CLANG], chunks_on_request),
        with_tools("clang::tasks", &[CLANG], tasks),
    ]
}

/// Scans a program with `body` in a function `f` of `n` and an array `a` of numbers.
fn scanned(body: &str) -> Regions {
    let folder = tempfile::tempdir().expect("a folder");
    let source = format!(
        "void f(int n, double *a) {{\n{body}\n}}\n\
         int main(void) {{ double x[1]; f(0, x); }}\n"
    );
    let flags = ["-O1", "-fno-unroll-loops", "-fopenmp"];
    let program = compile_by("clang", folder.path(), &source, &flags);
    fathomp_scan::scan(&program).expect("a program")
}

fn only(regions: &Regions) -> &Body {
    assert_eq!(regions.problems, Vec::<String>::new());
    let all = bodies(regions);
    let [body] = all[..] else {
        panic!("{all:#?}");
    };
    body
}

/// Executions of the innermost loop by all of `threads`.
fn executions(body: &Body, threads: i64) -> i64 {
    let of = |thread| Run::new(10, threads, thread).executions(body);
    (0..threads)
        .map(|thread| *of(thread).last().expect("a loop"))
        .sum()
}

fn equal_shares() {
    let regions = scanned(
        "#pragma omp parallel for\n\
         for (int i = 0; i < n; i++) a[i] = 2 * a[i];",
    );
    let body = only(&regions);
    assert_eq!(body.kind, BodyKind::Parallel);
    assert_eq!(body.starts[0].entry, "__kmpc_fork_call");
    assert_eq!(body.starts[0].threads, Some(0));
    for threads in [1, 3, 8] {
        assert_eq!(executions(body, threads), 10, "of {threads} threads");
    }
    let schedule = body.loops[0].worksharing.as_ref().expect("a shared loop");
    assert_eq!(schedule.kind, ScheduleKind::Static);
}

fn chunks_in_turn() {
    let regions = scanned(
        "#pragma omp parallel for schedule(static, 2) num_threads(3)\n\
         for (int i = 0; i < n; i++) a[i] = 2 * a[i];",
    );
    let body = only(&regions);
    assert_eq!(body.starts[0].threads, None);
    // A loop over the chunks, and one over the iterations of a chunk.
    assert_eq!(body.loops.len(), 2);
    assert_eq!(body.loops[1].depth, 1);
}

fn chunks_on_request() {
    let regions = scanned(
        "#pragma omp parallel for schedule(dynamic, 5)\n\
         for (int i = 0; i < n; i++) a[i] = 2 * a[i];",
    );
    let body = only(&regions);
    let schedule = body.loops[0].worksharing.as_ref().expect("a shared loop");
    assert_eq!(schedule.kind, ScheduleKind::Dynamic);
    assert!(schedule.chunk.is_some() && schedule.total.is_some());
}

fn tasks() {
    let regions = scanned(
        "#pragma omp parallel\n\
         #pragma omp single\n\
         for (int i = 0; i < n; i++)\n\
         #pragma omp task firstprivate(i)\n\
         a[i] = i;",
    );
    let kinds: Vec<_> = bodies(&regions).iter().map(|body| body.kind).collect();
    assert!(kinds.contains(&BodyKind::Parallel), "{kinds:?}");
    assert!(kinds.contains(&BodyKind::Task), "{kinds:?}");
}
