//! `fathomp run --advice`: which regions get smaller teams, which keep theirs,
//! and advice that is none, or somebody else's.

use crate::common::{Ended, compile, fathomp, finish};
use object::{Object, ObjectSymbol};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// Prints how many threads each of its regions had.
const PROGRAM: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static int size;
__attribute__((noinline)) static void clause(void)
{
    size = 0;
#pragma omp parallel num_threads(3)
#pragma omp atomic
    size++;
    printf("clause %d\n", size);
}
__attribute__((noinline)) static void open_(void)
{
    size = 0;
#pragma omp parallel
#pragma omp atomic
    size++;
}
__attribute__((noinline)) static void counts(void)
{
#pragma omp parallel
#pragma omp single
    size = omp_get_num_threads();
}
int main(int argc, char **argv)
{
    int most = 0;
    /* The first execution shows what a region asks for. */
    open_();
    open_();
    printf("open %d\n", size);
    clause();
    counts();
    counts();
    printf("counts %d\n", size);
    if (argc > 1)
        most = omp_get_max_threads();
    open_();
    printf("asked %d\n", size);
    if (argc > 1)
        omp_set_num_threads(4);
    open_();
    printf("set %d\n", size);
    return most > 1000;
}
"#;

struct Built {
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl Built {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let flags = ["-fopenmp", "-g", "-O1", "-Wl,--build-id"];
        let program = compile(directory.path(), "teams", text, &flags);
        Self { directory, program }
    }

    /// Advice for one thread in all regions of the program.
    fn advice(&self, build_id: Option<&str>) -> Value {
        let bytes = fs::read(&self.program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let own = file.build_id().unwrap().unwrap();
        let own: String = own.iter().map(|byte| format!("{byte:02x}")).collect();
        let bodies = file
            .symbols()
            .filter(|symbol| symbol.name().is_ok_and(|name| name.contains("_omp_fn")));
        let regions = bodies.map(|body| {
            json!({
                "name": body.name().unwrap(), "module": 0, "address": body.address(),
                "steps": [{"from_trips": 0, "threads": 1}],
                "advised": {"threads": 1, "packages": 1, "gain": 1.0, "gain_low": 1.0, "gain_high": 1.0},
                "loss": {"all": 0.5, "one": 0.0}, "points": [], "confidence": "high",
                "basis": {"scanned": true, "facts": false, "measured_threads": 2,
                    "measured_counts": 1, "executions": 1, "absolute": true},
                "reason": "it is short"
            })
        });
        let regions: Vec<_> = regions.collect();
        assert!(!regions.is_empty());
        json!({
            "schema": "fathomp.advice", "version": 1,
            "modules": [{"path": self.program, "build_id": build_id.unwrap_or(&own)}],
            "machine": {"name": "here", "cores": 4, "packages": 1, "measured": true},
            "regions": regions
        })
    }

    fn run(&self, advice: &str, more: &[&str], variables: &[(&str, &str)]) -> Ended {
        let file = self.directory.path().join("advice.json");
        fs::write(&file, advice).unwrap();
        let mut command = fathomp(self.directory.path());
        command
            .args(["run", "--quiet", "--threads", "4", "--advice"])
            .arg(file)
            .arg("--")
            .arg(&self.program)
            .args(more)
            .envs(variables.iter().copied());
        finish(&mut command)
    }
}

#[test]
fn advice_is_followed_where_the_program_leaves_it_open() {
    let built = Built::new(PROGRAM);
    let advice = built.advice(None).to_string();
    let ended = built.run(&advice, &[], &[]);
    assert_eq!(
        ended.succeeded().text(),
        "open 1\nclause 3\ncounts 4\nasked 1\nset 1\n"
    );
    // A program that asks for the most just before a region may count on so many, and one
    // that sets the number means it; unless the user says that it copes.
    let careful = built.run(&advice, &["more"], &[]);
    assert_eq!(
        careful.succeeded().text(),
        "open 1\nclause 3\ncounts 4\nasked 4\nset 4\n"
    );
    let dynamic = built.run(&advice, &["more"], &[("OMP_DYNAMIC", "true")]);
    // Then a clause is a wish that the processors bound, too.
    let text = dynamic.succeeded().text();
    let open: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with("clause"))
        .collect();
    assert_eq!(open, ["open 1", "counts 1", "asked 1", "set 1"]);
}

#[test]
fn data_of_each_thread_keep_the_team() {
    let text = PROGRAM
        .replace(
            "static int size;",
            "static int size;\nint own;\n#pragma omp threadprivate(own)\n",
        )
        .replace(
            "open_();\n    printf(\"open",
            "own = 1;\n    open_();\n    printf(\"open",
        );
    let built = Built::new(&text);
    let advice = built.advice(None).to_string();
    let ended = built.run(&advice, &[], &[]);
    assert_eq!(
        ended.succeeded().text(),
        "open 4\nclause 3\ncounts 4\nasked 4\nset 4\n"
    );
}

#[test]
fn advice_for_another_program_is_refused() {
    let built = Built::new(PROGRAM);
    let other = built.advice(Some("00112233")).to_string();
    built
        .run(&other, &[], &[])
        .refused(125, "not the same build-id");
    let mut renamed = built.advice(Some("00112233"));
    renamed["modules"][0]["path"] = json!("/nowhere/other");
    built
        .run(&renamed.to_string(), &[], &[])
        .refused(125, "another build-id");
}

#[test]
fn what_is_no_advice_is_refused() {
    let built = Built::new(PROGRAM);
    let advice = built.advice(None);
    let mut version = advice.clone();
    version["version"] = json!(99);
    built
        .run(&version.to_string(), &[], &[])
        .refused(125, "version 99");
    let mut threads = advice.clone();
    threads["regions"][0]["steps"][0]["threads"] = json!(0);
    built
        .run(&threads.to_string(), &[], &[])
        .refused(125, "number of threads");
    let whole = advice.to_string();
    for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
        built.run(&whole[..cut], &[], &[]).refused(125, "no advice");
    }
}

#[test]
fn a_process_that_says_nothing_is_no_failure() {
    let built = Built::new(
        &PROGRAM
            .replace(
                "return most > 1000;",
                "raise(SIGKILL);\n    return most > 1000;",
            )
            .replace("#include <omp.h>", "#include <omp.h>\n#include <signal.h>"),
    );
    let file = built.directory.path().join("advice.json");
    fs::write(&file, built.advice(None).to_string()).unwrap();
    let mut command = fathomp(built.directory.path());
    command
        .args(["run", "--advice"])
        .arg(file)
        .arg("--")
        .arg(&built.program);
    let ended = finish(&mut command);
    assert_eq!(ended.code, Some(137), "{ended:?}");
    assert!(
        ended.stderr.contains("no region's team was decided"),
        "{ended:?}"
    );
}
