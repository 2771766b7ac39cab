//! `fathomp scan` on programs, sources, both, and on what is neither.

use crate::common::{compile, fathomp, finish, run};
use std::fs;
use std::process::Command;

const SOURCE: &str = "#include <stdlib.h>
double sum(const double *x, const int *order, int n)
{
  double s = 0;
#pragma omp parallel for reduction(+:s) schedule(dynamic, 4)
  for (int i = 0; i < n; i++)
    s += x[order[i]];
  return s;
}
void scale(double *x, int n)
{
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    x[i] *= 2;
}
int main(int count, char **words)
{
  double *x = calloc(1000, sizeof *x);
  int *order = calloc(1000, sizeof *order);
  scale(x, 100 * count);
  return sum(x, order, 1000) != 0;
}
";

#[test]
fn a_program_with_its_source_is_seen_from_both_sides() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    compile(here, "sum", SOURCE, &["-O2", "-g", "-fopenmp"]);
    let json = finish(fathomp(here).args(["scan", "./sum", "--json"])).json();
    let regions = json["regions"].as_array().unwrap();
    assert_eq!(regions.len(), 2, "{json:#}");
    for region in regions {
        assert!(region["body"]["loops"].is_array(), "{region:#}");
        assert_eq!(region["construct"]["directive"]["name"], "parallel for");
        assert!(region["differences"].is_null(), "{region:#}");
    }
    assert!(json["problems"].as_array().unwrap().is_empty(), "{json:#}");

    let text = run(here, "scan sum").succeeded().text();
    for words in [
        ":5 in sum: parallel for (sum._omp_fn.0)",
        "schedule(dynamic, 4)",
        "8 B indirect (x)",
        "share(n)",
        "Understood",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let lines = here.join("lines.txt");
    run(here, "scan sum --region-lines lines.txt -o regions.json").succeeded();
    let lines = fs::read_to_string(&lines).unwrap();
    let numbers: Vec<&str> = lines
        .lines()
        .map(|line| line.rsplit(':').next().unwrap())
        .collect();
    assert_eq!(numbers, ["5", "12"], "{lines}");
    run(here, "scan sum -o regions.json").refused(1, "--force");

    let without = finish(fathomp(here).args(["scan", "sum", "--no-source", "--json"])).json();
    assert!(without["sources"].as_array().unwrap().is_empty());
    let stripped = Command::new("strip")
        .arg(here.join("sum"))
        .status()
        .unwrap();
    assert!(stripped.success());
    let text = run(here, "scan sum").succeeded().text();
    assert!(text.contains("8 B indirect"), "{text}");
}

#[test]
fn sources_need_no_compiler() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("sum.c"), SOURCE).unwrap();
    let fortran = "subroutine f(a, n)\n  real(8) :: a(n)\n!$omp parallel do\n  do i = 1, n\n    a(i) = 0\n  end do\nend\n";
    fs::write(here.join("f.f90"), fortran).unwrap();
    let list = r#"[
        {"directory": ".", "file": "f.f90", "command": "gfortran f.f90"},
        {"directory": ".", "file": "gone.c", "command": "gcc gone.c"}
    ]"#;
    fs::write(here.join("compile_commands.json"), list).unwrap();
    let text = run(here, "scan sum.c -p .").succeeded().text();
    for words in [
        "sum.c:5 in sum: parallel for",
        "indirect x[order[i]]",
        "f.f90:3 in f: parallel do",
        "gone.c: cannot be read",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_cannot_be_scanned_is_refused_in_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("notes.txt"), "text").unwrap();
    fs::write(here.join("plain.c"), "int main(void) { return 0; }").unwrap();
    fs::write(here.join("cut"), b"\x7fELF").unwrap();
    fs::write(here.join("binary.c"), b"\0\0").unwrap();
    compile(here, "serial", "int main(void) { return 0; }", &["-O1"]);
    for (line, words) in [
        ("scan notes.txt", "neither an ELF program"),
        ("scan gone", "cannot be read"),
        ("scan .", "is a directory"),
        ("scan /dev/null", "no ordinary file"),
        ("scan plain.c", "no OpenMP was found"),
        ("scan serial", "no OpenMP"),
        ("scan cut", "cut"),
        ("scan binary.c", "bytes that no source has"),
        ("scan -p notes.txt", "no list of compilations"),
    ] {
        run(here, line).refused(1, words);
    }
}
