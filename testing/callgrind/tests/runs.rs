//! A program of which every count is known.

use fathomp_callgrind::{Simulated, callgrind};
use fathomp_requirements::{OBJDUMP, VALGRIND, tests};
use std::process::{Command, ExitCode};
use std::time::Duration;

fn main() -> ExitCode {
    fathomp_requirements::run(
        tests![&[VALGRIND, OBJDUMP] => counts_are_those_of_the_program].into(),
    )
}

const SOURCE: &str = "
static double a[1 << 18];
__attribute__((noinline)) double sum(const double *from, long n)
{
    double s = 0;
    for (long i = 0; i < n; i++)
        s += from[i];
    return s;
}
int main(void) { return sum(a, 1 << 18) != 0; }
";

fn counts_are_those_of_the_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let source = directory.path().join("sum.c");
    std::fs::write(&source, SOURCE).expect("writing");
    let program = directory.path().join("sum");
    let built = Command::new("gcc")
        .args(["-O1", "-o"])
        .args([&program, &source])
        .status()
        .expect("gcc");
    assert!(built.success());
    let small = Simulated {
        bytes: 32 << 10,
        ways: 8,
    };
    let large = Simulated {
        bytes: 1 << 20,
        ways: 16,
    };
    let limit = Duration::from_secs(60);
    let (profile, _) = callgrind(&[&program], &[], Some((small, large)), limit).expect("a run");
    let symbols = Command::new("nm").arg(&program).output().expect("nm");
    let symbols = String::from_utf8(symbols.stdout).expect("text");
    let address = symbols
        .lines()
        .find(|line| line.ends_with(" sum"))
        .and_then(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok())
        .expect("the function");
    let counts = profile.sum(&program, address, address + 64);
    assert_eq!(counts.reads - 1, 1 << 18, "its data and the return address");
    let misses = counts.first_misses();
    assert!((32768..32772).contains(&misses), "{misses}");
}
