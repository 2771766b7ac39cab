//! Programs that misbehave, measured: one loses its own cells and nothing else.

use fathomp_bench::compiler::Compiler;
use fathomp_bench::result::Document;
use fathomp_bench::run::{Choice, Plan, PlanError};
use fathomp_bench::runtime::Runtime;
use fathomp_bench::settings::Settings;
use fathomp_bench::suite::{Measures, Parameter, Part, Program, Row, SuiteName};
use fathomp_bench::summary::summarise;
use fathomp_toolchain::testing::write_executable;
use std::path::Path;

/// Speaks the suites' protocol; each row ends in a way of its own.
const SCRIPT: &str = r#"#!/bin/sh
good() {
    echo "{\"runtime\":\"/lib/x.so\",\"threads\":$OMP_NUM_THREADS,\"wrong\":${1:-0},\"reps\":9,\
\"reference_ns\":[1,1,1],\"construct_ns\":[3,4,5]}"
}
case "$1" in
clock) echo '{"resolution_ns":1,"cost_ns":20,"tsc_hz":null,"core_hz":null}' ;;
calibrate) echo 50 ;;
probe)
    case "$2" in
    ABSENT) echo '{"available":false,"reason":"nobody wrote it"}' ;;
    MISSING) echo 'x: undefined symbol: GOMP_x' >&2; exit 127 ;;
    *) echo '{"available":true}' ;;
    esac ;;
run)
    case "$2" in
    GOOD|"LOOP 4"|"LOOP 9") good ;;
    WRONG) good 7 ;;
    CRASH) kill -SEGV $$ ;;
    GARBAGE) echo '{"threads": \001 nonsense' ;;
    FLOOD) yes ;;
    SILENT) ;;
    HANG) sleep 1000 ;;
    TEAM) OMP_NUM_THREADS=1; good ;;
    esac ;;
esac
"#;

fn row(name: &str) -> Row {
    let values: &[u64] = if name.ends_with(" n") { &[4, 9] } else { &[] };
    let parameter = Parameter {
        name: "chunk".to_owned(),
        symbol: "n".to_owned(),
        unit: "iterations".to_owned(),
        values: values.to_vec(),
        quick: Vec::new(),
    };
    Row {
        row: name.to_owned(),
        group: "sync".to_owned(),
        measures: Measures::Overhead,
        parameters: if values.is_empty() {
            Vec::new()
        } else {
            vec![parameter]
        },
    }
}

const ROWS: [&str; 11] = [
    "GOOD", "LOOP n", "WRONG", "CRASH", "GARBAGE", "FLOOD", "SILENT", "HANG", "TEAM", "ABSENT",
    "MISSING",
];

fn program(directory: &Path) -> Program {
    let path = directory.join("program");
    write_executable(&path, SCRIPT.as_bytes()).unwrap();
    Program {
        suite: SuiteName::Epcc,
        compiler: Compiler::find("gcc", directory).unwrap(),
        parts: vec![Part {
            path,
            rows: ROWS.map(row).to_vec(),
        }],
        left_out: Vec::new(),
    }
}

fn plan(program: &Program, choice: &Choice) -> Result<Plan, PlanError> {
    let settings = Settings {
        threads: vec![2],
        runs: 2,
        limit_ms: 10.0,
        patience_s: 1,
        ..Settings::default()
    };
    let programs = std::slice::from_ref(program);
    Plan::new(
        SuiteName::Epcc,
        programs,
        &[Runtime::libgomp()],
        choice,
        settings,
    )
}

#[test]
fn a_program_that_misbehaves_costs_its_own_cells_only() {
    let directory = tempfile::tempdir().unwrap();
    let program = program(directory.path());
    let plan = plan(&program, &Choice::default()).unwrap();
    let mut steps = 0;
    let document: Document = plan
        .measure(|step| {
            assert_eq!(step.done, steps);
            steps += 1;
        })
        .unwrap();
    assert_eq!(steps, plan.steps());
    assert_eq!(steps, 2 * (ROWS.len() + 1));
    document.check().unwrap();
    let failure = |name: &str| {
        let cell = document
            .cells
            .iter()
            .find(|cell| cell.case.row == name)
            .unwrap();
        assert!(cell.processes.is_empty(), "{name}");
        cell.failure.clone().unwrap()
    };
    for (name, words) in [
        ("WRONG", "gave 7 wrong results"),
        ("CRASH", "SIGSEGV"),
        ("GARBAGE", "printed no samples"),
        ("FLOOD", "did not end within"),
        ("SILENT", "printed no samples"),
        ("HANG", "did not end within"),
        ("TEAM", "ran with 1 threads"),
    ] {
        assert!(failure(name).contains(words), "{name}: {}", failure(name));
    }
    let skipped = |name: &str| {
        let one = document
            .skipped
            .iter()
            .find(|one| one.what == name)
            .unwrap();
        one.sentence()
    };
    assert!(skipped("ABSENT").contains("nobody wrote it"));
    assert!(skipped("MISSING").contains("undefined symbol: GOMP_x"));
    let summary = summarise(&[document], None);
    let good = summary
        .points
        .iter()
        .filter(|point| point.estimate(0).is_some());
    let names: Vec<String> = good.map(fathomp_bench::summary::Point::name).collect();
    assert_eq!(names, ["GOOD", "LOOP 4", "LOOP 9"]);
    let estimate = summary.points[0].estimate(0).unwrap();
    assert_eq!((estimate.value, estimate.moments.mean), (3.0, 3.0));
    assert_eq!(estimate.over_runs.runs, 2);
}

#[test]
fn rows_and_groups_are_chosen_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let program = program(directory.path());
    let chosen = |only: &[&str], groups: &[&str]| {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let choice = Choice {
            only: own(only),
            groups: own(groups),
        };
        plan(&program, &choice)
    };
    assert_eq!(
        chosen(&["good", "loop 7", "LOOP"], &["sync"])
            .unwrap()
            .steps(),
        2 * 4
    );
    for (only, groups, words) in [
        (
            &["NOTHING"][..],
            &[][..],
            "has no row called \"NOTHING\": it has ABSENT, CRASH",
        ),
        (&[], &["task"], "has no group called \"task\": it has sync"),
        (&["LOOP 0"], &[], "has no row called \"LOOP 0\""),
    ] {
        let sentence = chosen(only, groups).unwrap_err().to_string();
        assert!(sentence.contains(words), "{sentence}");
    }
}
