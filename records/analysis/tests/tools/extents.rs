//! Which lines regions of real compiled programs reach over.
//!
//! Needs binutils, and g++ and gfortran for some; without them tests are ignored.

use fathomp_analysis::symbols::Symbols;
use fathomp_requirements::{GFORTRAN, GXX, OBJDUMP};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The levels every region is looked at with: optimisation moves and mixes lines.
const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = Vec::from(trials!["extents", &[OBJDUMP] =>
        regions_reach_from_their_directive_to_their_last_line,
        regions_and_tasks_inside_belong_to_the_region_around_them,
        what_is_inlined_counts_where_it_is_called,
        functions_nested_in_regions,
        macros_over_several_lines,
        files_that_lack_something_have_no_extents,
        long_regions_are_cut,
    ]);
    all.extend(trials!["extents", &[OBJDUMP, GXX] => lambdas_and_templates]);
    all.extend(trials!["extents", &[OBJDUMP, GFORTRAN] => fortran]);
    all
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn compile(directory: &Path, compiler: &str, name: &str, source: &str, level: &str) -> PathBuf {
    let file = directory.join(name);
    std::fs::write(&file, source).unwrap();
    let program = directory.join("solver");
    let words = ["-g", level, "-fopenmp", "-o", program.to_str().unwrap()];
    run(compiler, &[&words[..], &[file.to_str().unwrap()]].concat());
    program
}

/// Addresses of the outlined functions of `program` whose symbol begins so, by
/// their numbers.
fn outlined(program: &Path, prefix: &str) -> Vec<u64> {
    let listing = run("nm", &[program.to_str().unwrap()]);
    let mut found: Vec<(u32, u64)> = listing
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let name = words.nth(1)?;
            let (stem, number) = name.rsplit_once("._omp_fn.")?;
            Some((
                stem.starts_with(prefix).then(|| number.parse().ok())??,
                address,
            ))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, address)| address).collect()
}

/// First and last lines of those functions, all in `file`, sorted.
fn extents(program: &Path, prefix: &str, file: &str) -> Vec<(u32, u32)> {
    let mut symbols = Symbols::new();
    let mut all: Vec<(u32, u32)> = outlined(program, prefix)
        .into_iter()
        .map(|function| {
            let lines = symbols.lines(program, function).expect("there are lines");
            assert!(Path::new(&lines.file).is_absolute(), "{}", lines.file);
            assert!(lines.file.ends_with(file), "{}", lines.file);
            let place = symbols.place(program, 0, function);
            assert_eq!(place.line, Some(lines.first));
            assert_eq!(place.file.as_ref(), Some(&lines.file));
            (lines.first, lines.last)
        })
        .collect();
    all.sort_unstable();
    all
}

/// Compiles at every level and compares.
fn expect(compiler: &str, name: &str, source: &str, prefix: &str, expected: &[(u32, u32)]) {
    for level in LEVELS {
        let directory = TempDir::new().unwrap();
        let program = compile(directory.path(), compiler, name, source, level);
        assert_eq!(extents(&program, prefix, name), expected, "{level}");
    }
}

fn regions_reach_from_their_directive_to_their_last_line() {
    let source = "\
double a[1000], b[1000];
int main(int argc, char **argv)
{
    double s = 0;
    (void)argv;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < 1000; i++)
        s += a[i];
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 4)
        for (int i = 0; i < 1000; i++)
            b[i] = s * a[i];
#pragma omp critical
        a[0] += argc;
    }
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        b[i] += 2 * a[i];
    return b[argc] > 0;
}
";
    expect(
        "gcc",
        "solver.c",
        source,
        "main",
        &[(6, 8), (9, 15), (17, 19)],
    );
}

fn regions_and_tasks_inside_belong_to_the_region_around_them() {
    let source = "\
volatile int sink;
int main(void)
{
#pragma omp parallel
    {
        sink++;
#pragma omp parallel for
        for (int i = 0; i < 100; i++)
            sink += i;
    }
#pragma omp parallel
    {
#pragma omp parallel for
        for (int i = 0; i < 100; i++)
            sink -= 2 * i;
        sink++;
    }
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task
        {
            sink += i;
            sink -= 1;
        }
    }
    return 0;
}
";
    // The region that ends the first is not in its code; a recording tells.
    let expected = [(4, 6), (7, 9), (11, 16), (13, 15), (18, 24), (21, 24)];
    expect("gcc", "solver.c", source, "main", &expected);
}

fn what_is_inlined_counts_where_it_is_called() {
    let header =
        "static inline double shared(double x)\n{\n\n\n\n\n\n\n\n\n\n\n    return 3 * x + 1;\n}\n";
    let source = "\
#include \"solver.h\"
double a[1000];
static inline double above(double x)
{
    return x * x;
}
static inline double below(double x);
int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        a[i] = below(shared(above(a[i])));
    return 0;
}
static inline double below(double x)
{
    return x - 1;
}
";
    for level in LEVELS {
        let directory = TempDir::new().unwrap();
        std::fs::write(directory.path().join("solver.h"), header).unwrap();
        let program = compile(directory.path(), "gcc", "solver.c", source, level);
        assert_eq!(extents(&program, "main", "solver.c"), [(10, 12)], "{level}");
    }
}

fn functions_nested_in_regions() {
    let source = "\
double a[1000];
int main(int argc, char **argv)
{
    (void)argv;
    int helper(int x)
    {
        return x + argc;
    }
#pragma omp parallel
    {
        int twice(int x)
        {
            return helper(x) + helper(x + 1);
        }
#pragma omp for
        for (int i = 0; i < 1000; i++)
            a[i] = twice(i);
        a[0] = 7;
    }
    return 0;
}
";
    expect("gcc", "solver.c", source, "main", &[(9, 18)]);
}

fn macros_over_several_lines() {
    let source = "\
double a[1000];
#define LOOP(body) \\
    _Pragma(\"omp parallel for\") \\
    for (int i = 0; i < 1000; i++) { \\
        body; \\
    }
int main(int argc, char **argv)
{
    (void)argv;
    LOOP(
        a[i] += argc
    )
#pragma omp parallel for \\
        schedule(static)
    for (int i = 0; i < 1000; i++)
        a[i] *= 2;
    return 0;
}
";
    for level in LEVELS {
        let directory = TempDir::new().unwrap();
        let program = compile(directory.path(), "gcc", "solver.c", source, level);
        let found = extents(&program, "main", "solver.c");
        // Compilers give a macro's lines to its use or to its arguments.
        assert!((10..=11).contains(&found[0].0), "{level} {found:?}");
        assert!((10..=12).contains(&found[0].1), "{level} {found:?}");
        assert_eq!(found[1], (13, 16), "{level}");
    }
}

fn files_that_lack_something_have_no_extents() {
    let source = "\
double a[1000];
int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        a[i] += 1;
    return 0;
}
";
    let directory = TempDir::new().unwrap();
    let program = compile(directory.path(), "gcc", "solver.c", source, "-O2");
    let name = program.to_str().unwrap();
    let [function] = outlined(&program, "main")[..] else {
        panic!("one region");
    };
    let lines = Symbols::new().lines(&program, function);
    assert!(lines.is_some());
    for address in [0, 1, function + 1, u64::MAX] {
        assert_eq!(Symbols::new().lines(&program, address), None);
    }
    // A debug file beside the stripped program does as well.
    let debug = format!("{name}.debug");
    run("objcopy", &["--only-keep-debug", name, &debug]);
    run("strip", &[name]);
    run("objcopy", &[&format!("--add-gnu-debuglink={debug}"), name]);
    assert_eq!(Symbols::new().lines(&program, function), lines);
    std::fs::remove_file(&debug).unwrap();
    assert_eq!(Symbols::new().lines(&program, function), None);
    std::fs::write(&program, "not a program").unwrap();
    assert_eq!(Symbols::new().lines(&program, function), None);
}

fn long_regions_are_cut() {
    let mut source =
        "volatile int sink;\nint main(void)\n{\n#pragma omp parallel\n    {\n".to_owned();
    source.push_str(&"        sink++;\n".repeat(500));
    source.push_str("    }\n    return 0;\n}\n");
    expect("gcc", "solver.c", &source, "main", &[(4, 203)]);
}

fn lambdas_and_templates() {
    let source = "\
double a[1000];
template <typename F> void every(F f)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        f(i);
}
int main(int argc, char **)
{
    every([&](int i) {
        a[i] += argc;
    });
    every([](int i) {
        a[i] *= 2;
    });
}
";
    expect("g++", "solver.cpp", source, "_Z", &[(4, 6), (4, 6)]);
}

fn fortran() {
    let source = "\
program solver
  implicit none
  real(8) :: a(1000), s
  integer :: i, k
  a = 1; s = 0
  !$omp parallel do private(k) &
  !$omp   reduction(+ : s)
  do i = 1, 1000
    do k = 1, 10
      s = s + a(i) * k
    end do
  end do
  !$omp end parallel do
  !$omp parallel
  !$omp do schedule(dynamic, 8)
  do i = 1, 1000
    a(i) = s
  end do
  !$omp end do
  !$omp critical
  a(1) = a(1) + 1
  !$omp end critical
  !$omp end parallel
  print *, a(1)
end program
";
    for level in LEVELS {
        let directory = TempDir::new().unwrap();
        let program = compile(directory.path(), "gfortran", "solver.f90", source, level);
        let found = extents(&program, "MAIN__", "solver.f90");
        let starts: Vec<u32> = found.iter().map(|one| one.0).collect();
        // A directive over several lines counts with its first or its last.
        assert!(matches!(starts[..], [6 | 7, 14]), "{level} {starts:?}");
        // With or without the directives that end something.
        assert!((10..=13).contains(&found[0].1), "{level} {found:?}");
        assert!((21..=23).contains(&found[1].1), "{level} {found:?}");
    }
}
