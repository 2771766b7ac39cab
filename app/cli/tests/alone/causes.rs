//! `fathomp study` names the cause that was put into a program, and predicts nothing
//! that is known to be wrong.
//!
//! `tests/causes/expected.csv` says what is true of the programs beside it, and of some
//! of `workloads/patterns`. Slow rows run with `FATHOMP_ALL_TESTS` set.

use crate::common::{self, Ended, fathomp, finish};
use fathomp_requirements::{GFORTRAN, GXX};
use libtest_mimic::{Completion, Failed, Trial};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Other programs may disturb a run; what rests on times and is wrong so often is wrong.
const TRIES: usize = 3;
/// Causes that rest on counts, which nobody disturbs: they must be named at once.
const COUNTED: &[&str] = &[
    "oversubscription",
    "fixed_team",
    "few_pieces",
    "short_loops",
    "short_regions",
    "small_chunks",
    "small_tasks",
    "blocked",
];
/// One row of so many may be wrong; of fewer, one.
const ONE_OF: usize = 10;
/// Causes below this part of the time are none.
const LEAST: f64 = 0.05;
/// Predicted intervals may miss what is true by this much: the truth leaves out what
/// constructs cost.
const SLACK: f64 = 0.05;
/// Where other programs cost this part of the time, threads take turns, and cache lines
/// that they share cost nothing.
const APART: f64 = 0.2;
/// Two threads that share a cache line and are so many times as fast as one lose little by it, as
/// where virtual processors are two threads of one core and share its first-level cache.
const GAIN: f64 = 1.4;

/// One program runs at a time: times of two would say nothing.
static TURN: Mutex<()> = Mutex::new(());

/// A line of the table.
#[derive(Clone, Debug, Default)]
struct Row {
    program: String,
    arguments: String,
    environment: String,
    command: String,
    threads: String,
    slow: bool,
    /// Kinds that may come first; `-` for none.
    first: Vec<String>,
    region: String,
    /// Key and value.
    holds: Vec<(String, String)>,
}

/// What is wrong with an answer.
#[derive(Debug, Default)]
struct Verdict {
    wrong: Vec<String>,
    /// The part of it that was claimed with certainty.
    confident: Vec<String>,
    /// How many of what is wrong are predicted times.
    times: usize,
    /// Other programs had processors so much that threads hardly ran at once.
    apart: bool,
    /// For the same reason nothing is predicted.
    silent: bool,
    /// And no cause is named, as it should be where times say nothing.
    nothing_said: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/causes")
}

/// The cells of a line, of which some stand in quotation marks.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cells.last_mut().expect("one at least").push(other),
        }
    }
    cells
}

fn table() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("expected.csv")).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let cells = cells(line);
            let cells: [String; 9] = cells.try_into().unwrap_or_else(|_| panic!("{line}"));
            let [
                program,
                arguments,
                environment,
                command,
                threads,
                when,
                first,
                region,
                holds,
            ] = cells;
            let pairs = holds.split("; ").filter(|pair| !pair.is_empty());
            Row {
                holds: pairs
                    .map(|pair| {
                        let (key, value) = pair.split_once('=').expect("key=value");
                        (key.to_owned(), value.to_owned())
                    })
                    .collect(),
                first: first.split(' ').map(str::to_owned).collect(),
                slow: when == "slow",
                program,
                arguments,
                environment,
                command,
                threads,
                region,
            }
        })
        .collect()
}

impl Row {
    fn name(&self) -> String {
        let all = [&self.environment, &self.program, &self.arguments];
        let parts: Vec<_> = all.into_iter().filter(|part| !part.is_empty()).collect();
        let words: Vec<_> = parts.iter().map(|part| part.as_str()).collect();
        format!("{} ({})", words.join(" "), self.command)
    }

    fn looks(&self) -> bool {
        self.command == "study looking"
    }

    /// Nodes and looks for shared lines take the wing of clusters.
    fn can_run(&self) -> bool {
        cfg!(feature = "cluster") || self.command == "study"
    }

    fn is_pattern(&self) -> bool {
        self.program.starts_with("patterns/")
    }

    fn is_plain(&self) -> bool {
        !self.looks() && !self.is_pattern()
    }

    fn compiler(&self) -> &'static str {
        match self.program.rsplit_once('.') {
            Some((_, "f90")) => "gfortran",
            Some((_, "cpp")) => "g++",
            _ => "gcc",
        }
    }

    /// The program, built once for all rows that run it.
    fn build(&self, at: &Path) -> PathBuf {
        let built = match self.program.strip_prefix("patterns/") {
            Some(name) => at.join(name),
            None => at.join(self.program.replace('.', "_")),
        };
        if built.exists() {
            return built;
        }
        if self.program.starts_with("patterns/") {
            let line = format!("workload build -q -o . {}", self.program);
            common::run(at, &line).succeeded();
            return built;
        }
        let ended = finish(
            Command::new(self.compiler())
                .args(["-O2", "-g", "-fopenmp", "-o"])
                .arg(&built)
                .arg(folder().join(&self.program))
                .arg("-lm"),
        );
        ended.succeeded();
        built
    }

    /// The command in a directory of its own.
    fn start(&self, at: &Path, words: &[&str], program: &Path) -> Ended {
        let mut command = fathomp(at);
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        command.args(words).arg("--").arg(program);
        finish(command.args(self.arguments.split_whitespace()))
    }

    /// Whether the program, watched by nobody, is much faster with two threads than with one.
    fn gains(&self, programs: &Path) -> bool {
        let program = self.build(programs);
        let run = |threads: &str| {
            let mut command = Command::new(&program);
            command.args(self.arguments.split_whitespace());
            let begin = Instant::now();
            finish(command.env("OMP_NUM_THREADS", threads)).succeeded();
            begin.elapsed()
        };
        let [one, two] = ["1", "2"].map(|threads| {
            let least = (0..TRIES).map(|_| run(threads)).min();
            least.unwrap_or_default().as_secs_f64()
        });
        eprintln!(
            "{}: {:.2} times as fast with 2 threads",
            self.name(),
            one / two
        );
        one >= GAIN * two
    }

    fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let words = self.environment.split_whitespace();
        words.filter_map(|word| word.split_once('='))
    }

    fn check(&self, programs: &Path) -> Verdict {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let program = self.build(programs);
        match self.command.as_str() {
            "study" | "study looking" => {
                let mut words = vec!["study", "--json", "--force", "--threads", &self.threads];
                if self.command == "study" {
                    words.push("--no-sharing");
                }
                let ended = self.start(at, &words, &program);
                self.judge_study(&ended.succeeded().json())
            }
            on_nodes => {
                let dsm = on_nodes.rsplit(' ').next().unwrap_or("home");
                let words = ["record", "--nodes", &self.threads, "--dsm", dsm, "-o", "r"];
                self.start(at, &words, &program).succeeded();
                let facts = common::run(at, "regions --json r");
                common::run(at, "report r -o page.html").succeeded();
                let page = std::fs::read_to_string(at.join("page.html")).unwrap();
                self.judge_nodes(&facts.succeeded().json(), &page)
            }
        }
    }

    fn judge_study(&self, answer: &Value) -> Verdict {
        let mut verdict = Verdict::default();
        let none = Vec::new();
        let causes = answer["causes"].as_array().unwrap_or(&none);
        let of_program = causes.iter().filter(|cause| {
            let circumstance = ["recording", "other_programs", "slower_processors"];
            !circumstance.contains(&text(&cause["kind"])) && share(cause) >= LEAST
        });
        let of_program: Vec<_> = of_program.collect();
        let mut others = causes.iter();
        verdict.apart =
            others.any(|cause| cause["kind"] == "other_programs" && share(cause) >= APART);
        let may_be_none = self.first[0] == "-";
        let notes = answer["notes"].as_array().unwrap_or(&none).iter();
        let mut notes = notes.map(text);
        verdict.silent = notes.any(|note| note.starts_with("Nothing was predicted: while"));
        if verdict.silent && of_program.is_empty() {
            verdict.nothing_said = true;
            return verdict;
        }
        let first = of_program.first().copied();
        let kind = first.map_or("-", |cause| text(&cause["kind"]));
        if !self.first.iter().any(|expected| expected == kind) {
            let listed: Vec<_> = of_program.iter().map(|cause| in_words(cause)).collect();
            verdict.wrong(format!("the first cause is {kind}: {listed:?}"));
        }
        let place = first.map_or("", |cause| text(&cause["place"]));
        let expected = match self.region.as_str() {
            "-" => "the program".to_owned(),
            region => format!("region {region}"),
        };
        if !may_be_none && place != expected {
            verdict.wrong(format!("it is in {place}, not in {expected}"));
        }
        for (key, value) in &self.holds {
            let field = match key.as_str() {
                "title" | "evidence" => key.as_str(),
                "advice" => "action",
                _ => {
                    self.judge_number(answer, key, value, &of_program, &mut verdict);
                    continue;
                }
            };
            let said = first.map_or("", |cause| text(&cause[field]));
            if !said.contains(value.as_str()) {
                verdict.wrong(format!("its {key} does not say {value}: {said}"));
            }
        }
        verdict
    }

    fn judge_number(
        &self,
        answer: &Value,
        key: &str,
        value: &str,
        causes: &[&Value],
        verdict: &mut Verdict,
    ) {
        let none = Vec::new();
        let points = answer["prediction"]["points"].as_array().unwrap_or(&none);
        if let Some(threads) = key.strip_prefix("speedup(") {
            let threads: u64 = threads.trim_end_matches(')').parse().unwrap();
            let truth: f64 = value.parse().unwrap();
            let point = points.iter().find(|point| point["threads"] == threads);
            let Some(point) = point else {
                if verdict.silent {
                    return;
                }
                return verdict.wrong(format!("nothing is predicted for {threads} threads"));
            };
            let [low, high] = ["speedup_low", "speedup_high"]
                .map(|name| point[name].as_f64().unwrap_or(f64::NAN));
            if !(low * (1.0 - SLACK) <= truth && truth <= high * (1.0 + SLACK)) {
                verdict.times += 1;
                verdict.confident(format!(
                    "with {threads} threads it is {truth} times as fast, predicted {low:.2} to {high:.2}"
                ));
            }
            return;
        }
        match key {
            "most" => {
                let most: f64 = value.parse().unwrap();
                let predicted = points.iter().filter_map(|point| point["speedup"].as_f64());
                let largest = predicted.fold(0.0, f64::max);
                if largest > most {
                    verdict.times += 1;
                    verdict.wrong(format!("a speed-up of {largest:.2} is predicted"));
                }
            }
            "never" => {
                for kind in value.split(' ') {
                    let there = causes.iter().position(|cause| text(&cause["kind"]) == kind);
                    let Some(place) = there else { continue };
                    let said = format!("{kind} is named: {}", in_words(causes[place]));
                    match place {
                        0 => verdict.confident(said),
                        _ => verdict.wrong(said),
                    }
                }
            }
            "recording" => {
                let most: f64 = value.parse().unwrap();
                let all = answer["causes"].as_array().unwrap_or(&none).iter();
                let mut recording = all.filter(|cause| cause["kind"] == "recording");
                if recording.any(|cause| share(cause) >= most) {
                    verdict.confident("recording is said to take all of the time".to_owned());
                }
            }
            other => panic!("{other} cannot be checked"),
        }
    }

    /// On nodes: time for other nodes, and nothing about schedules.
    fn judge_nodes(&self, facts: &Value, page: &str) -> Verdict {
        let mut verdict = Verdict::default();
        let none = Vec::new();
        let regions = facts["regions"].as_array().unwrap_or(&none);
        let region = regions.iter().find(|region| region["kind"] == "parallel");
        let region = region.unwrap_or(&Value::Null);
        let communication = region["states"]["communication"].as_u64();
        if communication.unwrap_or(0) == 0 {
            verdict.wrong("no time for other nodes is told".to_owned());
        }
        let causes = &region["barrier_wait_causes"];
        if !causes.is_object() {
            verdict.wrong("why its nodes waited is not told".to_owned());
        }
        for (key, value) in &self.holds {
            let there = page.contains(value.as_str());
            match key.as_str() {
                "page" if !there => verdict.wrong(format!("the page does not say {value}")),
                "page never" if there => verdict.confident(format!("the page says {value}")),
                "page" | "page never" => {}
                other => panic!("{other} cannot be checked"),
            }
        }
        verdict
    }
}

impl Verdict {
    fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    fn confident(&mut self, what: String) {
        self.confident.push(what.clone());
        self.wrong.push(what);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn share(cause: &Value) -> f64 {
    let of = |cost: &str| cause[cost]["share"].as_f64().unwrap_or(0.0);
    of("measured").max(of("predicted"))
}

fn in_words(cause: &Value) -> String {
    let percent = share(cause) * 100.0;
    let [title, place, evidence] = ["title", "place", "evidence"].map(|key| text(&cause[key]));
    format!("{title}, {place}, {percent:.0} %: {evidence}")
}

/// Checks rows, and fails if too many are wrong.
fn check(rows: &[Row]) -> Result<(), Failed> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let programs = tempfile::tempdir()?;
    let (mut right, mut first_try) = (0, 0);
    let mut total = rows.len();
    let mut wrong = String::new();
    let mut confident: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        for attempt in 1..=TRIES {
            let verdict = row.check(programs.path());
            if verdict.nothing_said {
                if attempt == TRIES {
                    eprintln!(
                        "{}: left out, other programs kept its threads apart",
                        row.name()
                    );
                    total -= 1;
                }
                continue;
            }
            if verdict.wrong.is_empty() {
                right += 1;
                first_try += usize::from(attempt == 1);
                break;
            }
            eprintln!("{}, try {attempt}: {:#?}", row.name(), verdict.wrong);
            let at_once = COUNTED.contains(&row.first[0].as_str());
            if attempt == TRIES && row.looks() && verdict.apart && verdict.confident.is_empty() {
                eprintln!("{}: left out, its threads hardly ran at once", row.name());
                total -= 1;
                break;
            }
            let shares = row.first[0] == "false_sharing" && verdict.confident.is_empty();
            if attempt == TRIES && row.looks() && shares && row.gains(programs.path()) {
                eprintln!("{}: left out, sharing a line costs little here", row.name());
                total -= 1;
                break;
            }
            if attempt == TRIES || (at_once && verdict.wrong.len() > verdict.times) {
                let _ = writeln!(wrong, "{}: {:#?}", row.name(), verdict.wrong);
                if !verdict.confident.is_empty() {
                    confident.insert(row.name(), verdict.confident);
                }
                break;
            }
        }
    }
    eprintln!("{right} of {total} right, {first_try} of them at the first try");
    if total - right > (total / ONE_OF).max(1) || !confident.is_empty() {
        return Err(format!(
            "{right} of {total} right\nclaimed although wrong: {confident:#?}\nwrong: {wrong}"
        )
        .into());
    }
    Ok(())
}

/// Rows as one test: those that are slow only if all are asked for.
fn test(name: &'static str, of: fn(&Row) -> bool) -> Trial {
    Trial::ignorable_test(name, move || {
        let all = fathomp_requirements::slow_wanted();
        let mut rows = table();
        rows.retain(|row| of(row) && row.can_run() && (all || !row.slow));
        if rows.is_empty() {
            return Ok(fathomp_requirements::too_slow());
        }
        for (tool, compiler) in [(GXX, "g++"), (GFORTRAN, "gfortran")] {
            if rows.iter().any(|row| row.compiler() == compiler) && !tool.is_installed() {
                return fathomp_requirements::left_out(tool.reason());
            }
        }
        check(&rows)?;
        Ok(Completion::Completed)
    })
}

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        test("causes::causes_in_c_programs_are_named", |row| {
            row.is_plain() && row.compiler() == "gcc"
        }),
        test("causes::causes_in_cpp_programs_are_named", |row| {
            row.is_plain() && row.compiler() == "g++"
        }),
        test("causes::causes_in_fortran_programs_are_named", |row| {
            row.is_plain() && row.compiler() == "gfortran"
        }),
        #[cfg(feature = "cluster")]
        test("causes::shared_cache_lines_are_named", Row::looks),
        test("causes::causes_in_patterns_are_named", Row::is_pattern),
    ]
}
