//! `fathomp regions` of all ranks names the cause that was put into a program of MPI, and nothing
//! that is not so.
//!
//! `tests/causes/mpi/expected.csv` says what is true of the programs beside it.

use crate::mpi::{Mpi, OF_MPICH, OF_OPENMPI};
use crate::{common, common::finish};
use fathomp_requirements::{MPICH, OPENMPI, with_tools};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Other programs may disturb a run; what is wrong so often is wrong.
const TRIES: usize = 3;
/// After this time rows are left out: other programs keep ranks from their processors.
const TIME_MAX: Duration = Duration::from_secs(35);
/// Causes below this part of the run are none.
const LEAST: f64 = 0.05;
/// Causes that may be due to the machine.
const OF_THE_MACHINE: [&str; 2] = ["other_programs", "unequal_or_slower_ranks"];
/// One row may be wrong.
const WRONG_MAX: usize = 1;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        with_tools(
            "mpi_causes::causes_of_ranks_are_named_under_mpich",
            &[MPICH],
            || check(&OF_MPICH),
        ),
        with_tools(
            "mpi_causes::causes_of_ranks_are_named_under_openmpi",
            &[OPENMPI],
            || check(&OF_OPENMPI),
        ),
    ]
}

/// A line of the table.
struct Row {
    program: String,
    variant: String,
    ranks: u32,
    threads: u32,
    /// The kind that comes first; `-` for none, `*` for any.
    first: String,
    /// How its place begins, or a part of it.
    place: String,
    never: Vec<String>,
}

/// What an answer says.
enum Verdict {
    Right,
    /// It names nothing, since other programs took processors or the recording is not complete.
    Silent,
    Wrong(String),
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/causes/mpi")
}

fn table() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("expected.csv")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [program, variant, ranks, threads, first, place, never] = cells[..] else {
            panic!("{line}");
        };
        Row {
            program: program.to_owned(),
            variant: variant.to_owned(),
            ranks: ranks.parse().unwrap(),
            threads: threads.parse().unwrap(),
            first: first.to_owned(),
            place: place.to_owned(),
            never: never.split_whitespace().map(str::to_owned).collect(),
        }
    };
    text.lines().skip(1).map(row).collect()
}

impl Row {
    fn name(&self) -> String {
        format!("{} {}", self.program, self.variant)
    }

    /// With fewer processors than threads all ranks wait for processors.
    fn can_run(&self) -> bool {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        processors >= (self.ranks * self.threads) as usize
    }

    fn check(&self, mpi: &Mpi, at: &Path) -> Verdict {
        let line = format!(
            "record --force --threads {} -o rec -- ./{} {}",
            self.threads, self.program, self.variant
        );
        let ended = mpi.run(at, self.ranks, &line);
        ended.succeeded();
        assert!(ended.text().contains("right"), "{ended:?}");
        let answer = common::run(at, "regions rec --json").succeeded().json();
        self.judge(&answer)
    }

    fn judge(&self, answer: &Value) -> Verdict {
        let all = answer["causes"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is_of_program = |cause: &&Value| {
            let share = cause["share"].as_f64().unwrap_or(0.0);
            !OF_THE_MACHINE.contains(&text(&cause["kind"]).as_str()) && share >= LEAST
        };
        let causes: Vec<&Value> = all.iter().filter(is_of_program).collect();
        let kinds: Vec<String> = causes.iter().map(|cause| text(&cause["kind"])).collect();
        if let Some(never) = kinds.iter().find(|kind| self.never.contains(kind)) {
            return Verdict::Wrong(format!("{never} is named: {causes:#?}"));
        }
        let is_disturbed = all.len() > causes.len() || answer["unknown_waits"].is_string();
        match causes.first() {
            _ if self.first == "*" => Verdict::Right,
            None if self.first == "-" => Verdict::Right,
            None if is_disturbed => Verdict::Silent,
            None => Verdict::Wrong("no cause is named".to_owned()),
            Some(first) if first["kind"] != self.first.as_str() => {
                Verdict::Wrong(format!("the first cause is another: {causes:#?}"))
            }
            Some(first) if !text(&first["place"]).contains(&self.place) => {
                Verdict::Wrong(format!("it is not in {}: {first:#?}", self.place))
            }
            Some(_) => Verdict::Right,
        }
    }
}

fn build(mpi: &Mpi, at: &Path, program: &str) {
    if at.join(program).exists() {
        return;
    }
    let source = folder().join(format!("{program}.c"));
    let mut command = Command::new(mpi.compilers[0]);
    let options = ["-O2", "-g", "-fopenmp", "-w", "-o", program];
    command.current_dir(at).args(options).arg(source).arg("-lm");
    finish(&mut command).succeeded();
}

fn check(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let (mut wrong, mut rows) = (String::new(), 0);
    let begin = Instant::now();
    for row in table().iter().filter(|row| row.can_run()) {
        build(mpi, at, &row.program);
        if begin.elapsed() > TIME_MAX {
            eprintln!("{}: left out, the machine is too busy", row.name());
            continue;
        }
        for attempt in 1..=TRIES {
            match row.check(mpi, at) {
                Verdict::Right => break,
                Verdict::Silent if attempt == TRIES => {
                    eprintln!("{}: left out, other programs disturbed it", row.name());
                }
                Verdict::Silent => {}
                Verdict::Wrong(why) => {
                    eprintln!("{}, try {attempt}: {why}", row.name());
                    if attempt == TRIES {
                        rows += 1;
                        let _ = writeln!(wrong, "{}: {why}", row.name());
                    }
                }
            }
        }
    }
    assert!(rows <= WRONG_MAX, "{wrong}");
}
