//! `fathomp compare`: programs before and after a change. No test judges times closely: what is to
//! be seen as faster does a small part of the work.

use crate::common::{Ended, compile, in_peace, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// One thread has nearly all of the work; a line is put above, and the second region stays.
fn source(mended: bool) -> String {
    let (above, bound) = match mended {
        true => ("/* a line that was not there */\n", "400"),
        false => ("", "(i < 100 ? 20000 : 80000)"),
    };
    format!(
        "#include <stdio.h>
{above}static double values[200];
static double work(int n)
{{
    double sum = 0;
    for (int i = 1; i < n; i++)
        sum += 1.0 / i;
    return sum;
}}
static void uneven(void)
{{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 200; i++)
        values[i] = work({bound});
}}
static void even(void)
{{
#pragma omp parallel for
    for (int i = 0; i < 200; i++)
        values[i] += work(300);
}}
int main(void)
{{
    for (int i = 0; i < 20; i++)
        uneven();
    even();
    printf(\"done\\n\");
    return 0;
}}
"
    )
}

/// A study of several runs, as if nothing had run beside it.
fn study(here: &Path, name: &str, program: &Path) {
    let line = format!(
        "study --no-sharing --no-rehearsal --threads 2 --repeat 4 --directory {name} -o {name}.html -- {}",
        program.display()
    );
    run(here, &line).succeeded();
    for recording in fs::read_dir(here.join(name).join("recordings")).unwrap() {
        let path = recording.unwrap().path();
        if path.is_dir() {
            quiet(&path);
        }
    }
}

fn quiet(recording: &Path) {
    in_peace(recording);
    fathomp_trace::writer::amend(recording, |meta| meta.pace = None).unwrap();
}

fn record(here: &Path, name: &str, program: &Path) {
    let line = format!("record -o {name} --threads 2 -- {}", program.display());
    run(here, &line).in_words();
    quiet(&here.join(name));
}

fn compare(here: &Path, rest: &str) -> Ended {
    run(here, &format!("compare {rest}"))
}

fn region<'a>(json: &'a Value, name: &str) -> &'a Value {
    let all = json["tables"][0]["regions"].as_array().unwrap();
    let found = all.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {all:?}"))
}

#[test]
fn a_mended_program_is_faster_though_its_lines_moved_and_its_file_was_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let flags = ["-g", "-O1", "-fopenmp", "-Wl,--build-id"];
    let program = compile(here, "solve", &source(false), &flags);
    study(here, "before", &program);
    // Built anew in the same place, with other options.
    let flags = ["-g", "-O2", "-fopenmp", "-Wl,--build-id"];
    let program = compile(here, "solve", &source(true), &flags);
    study(here, "after", &program);

    let json = compare(here, "before after --json").succeeded().json();
    assert_eq!(json["schema"], "fathomp.compare");
    let whole = &json["tables"][0]["program"];
    assert_eq!(whole["verdicts"][1], "faster", "{json}");
    assert!(whole["columns"][1]["ratio"]["value"].as_f64().unwrap() < 0.6);
    // The first region that differs is the mended one, wherever it was.
    let mended = &json["tables"][0]["regions"][0];
    let names = &mended["names"];
    let [before, after] = [&names[0][0], &names[1][0]].map(|name| name.as_str().unwrap());
    let line = |name: &str| name.rsplit(':').next().unwrap().parse::<u32>().unwrap();
    assert_eq!(line(before) + 1, line(after), "{names}");
    assert_eq!(mended["matched"][1], "place");
    let kept = region(&json, &format!("solve.c:{}", line(after) + 6));
    assert_eq!(kept["matched"][1], "place", "{kept}");
    let causes = json["causes"].as_array().unwrap();
    let waiting = ["unequal_work", "serial_in_region"];
    let gone = causes.iter().any(|cause| {
        waiting.iter().any(|kind| cause["kind"] == *kind) && cause["changes"][1] == "gone"
    });
    assert!(gone, "{causes:?}");
    let facts = json["facts"].as_array().unwrap();
    let compilers = facts
        .iter()
        .find(|fact| fact["name"] == "Compiler and options")
        .unwrap();
    assert_eq!(compilers["values"][1], "-O2", "{compilers}");

    let text = compare(here, "before after -o page.html --fail-above 5%");
    let words = text.succeeded().text();
    assert!(words.starts_with("after takes 0."), "{words}");
    assert!(words.contains(&format!("(was {before})")), "{words}");
    let page = fs::read_to_string(here.join("page.html")).unwrap();
    assert!(page.contains("after takes 0.") && page.contains("faster"));
    // The other way round it is slower than any limit allows.
    let slower = compare(here, "after before --fail-above 5%");
    slower.in_words();
    assert_eq!(slower.code, Some(3), "{slower:?}");
    assert!(
        slower
            .stderr
            .contains("slower than allowed: the program of before"),
        "{slower:?}"
    );
    assert_eq!(compare(here, "after before").code, Some(0));
    // A history: the first against each.
    let third = compare(
        here,
        "before after before/recordings/2-threads-run-1 --json",
    )
    .succeeded()
    .json();
    assert_eq!(third["summary"].as_array().unwrap().len(), 2);
    assert_eq!(third["tables"][0]["runs"][2], 1);
}

#[test]
fn single_runs_say_what_they_cannot_tell() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let program = compile(here, "solve", &source(true), &["-g", "-O1", "-fopenmp"]);
    record(here, "first", &program);
    record(here, "second", &program);
    let text = compare(here, "first second").succeeded().text();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("in one run each. That cannot tell a difference below 5.0 %"),
        "{text}"
    );
    assert!(
        text.contains("Program, machine and environment are the same."),
        "{text}"
    );
    let json = compare(here, "first second --json").succeeded().json();
    let table = &json["tables"][0];
    assert_eq!(table["program"]["verdicts"][1], "single_runs");
    for row in table["regions"].as_array().unwrap() {
        assert_eq!(row["matched"][1], "same_code", "{row}");
    }
    let judged = compare(here, "first second --fail-above 5%");
    assert_eq!(judged.code, Some(1), "{judged:?}");
    assert!(
        judged.stderr.contains("cannot be judged by single runs"),
        "{judged:?}"
    );
}

#[test]
fn a_program_that_crashed_is_shown_and_not_judged() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let whole = source(true);
    let crashing = whole.replace(
        "    even();\n",
        "    even();\n    *(volatile int *)0 = 1;\n",
    );
    let flags = ["-g", "-O1", "-fopenmp"];
    record(here, "whole", &compile(here, "solve", &whole, &flags));
    record(here, "crashed", &compile(here, "solve", &crashing, &flags));
    let ended = compare(here, "whole crashed");
    let text = ended
        .succeeded()
        .text()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains("are not compared, because"), "{text}");
    assert!(
        text.contains("No run of crashed came to a good end"),
        "{text}"
    );
    assert!(
        text.contains("signal 11") || text.contains("SIGSEGV"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let flags = ["-g", "-O1", "-fopenmp"];
    record(here, "one", &compile(here, "solve", &source(true), &flags));
    let other = source(true)
        .replace("uneven", "invert")
        .replace("even", "rotate");
    record(here, "other", &compile(here, "matrix", &other, &flags));
    fs::write(
        here.join("result.json"),
        "{\"schema\":\"fathomp.report\",\"version\":1}",
    )
    .unwrap();
    fs::create_dir(here.join("empty")).unwrap();
    fs::create_dir(here.join("damaged")).unwrap();
    fs::write(here.join("damaged/study.json"), "{").unwrap();
    for (rest, code, words) in [
        ("one one", 2, "one is given twice"),
        ("one one/../one", 2, "is given twice"),
        ("one missing", 1, "missing does not exist"),
        ("one empty", 1, "empty is not a recording"),
        ("one damaged", 1, "is damaged"),
        ("one result.json", 1, "is not a result of `fathomp bench`"),
        ("one other", 1, "none of their parallel regions match"),
        (
            "one other --force",
            2,
            "--force changes nothing without --output",
        ),
    ] {
        compare(here, rest).refused(code, words);
    }
    assert_eq!(compare(here, "one").code, Some(2));
    // Cut anywhere, a recording is refused or compared as far as it can be read.
    record(here, "cut", &here.join("solve"));
    for stream in fs::read_dir(here.join("cut/processes")).unwrap() {
        let path = stream.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        for part in [0, 10, bytes.len() / 3, bytes.len() - 1] {
            fs::write(&path, &bytes[..part]).unwrap();
            let ended = compare(here, "one cut");
            ended.in_words();
            assert!(matches!(ended.code, Some(0 | 1)), "{part}: {ended:?}");
        }
    }
}
