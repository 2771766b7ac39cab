//! `fathomp share`: several programs divide one machine.

use crate::args::{Share, Strategy};
use crate::console::{Console, complain};
use crate::core_partition::compare::{CompareError, Comparison, Estimate, compare};
use crate::core_partition::{Outputs, Session, ShareError};
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{Ended, StopSignalsBlocked};
use crate::output::{check_file, write_file};
use crate::program::{self, Program, Suspicion};
use crate::teams;
use fathomp_core_arbiter::policy::PROGRAMS_MAX;
use fathomp_launch::names::NODES;
use fathomp_launch::{asks_for_nodes, of_this_process};
use fathomp_report::text::Grid;
use fathomp_types::text::NO_TERMINAL;
use fathomp_types::{Ending, units};
use nix::sys::signal::Signal;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

#[derive(Serialize)]
struct Answer {
    strategy: &'static str,
    /// From the first start to the last end.
    wall_ns: u64,
    programs: Vec<One>,
}

#[derive(Serialize)]
struct One {
    name: String,
    command: Vec<String>,
    exit_code: u8,
    /// In words, such as "signal 11 (SIGSEGV)".
    ended: String,
    wall_ns: u64,
    /// Files of its output, unless that was mixed.
    stdout: Option<String>,
    stderr: Option<String>,
}

pub(super) fn share(plan: &Share, console: Console) -> Outcome {
    let programs = examine(plan)?;
    let expected = expected(plan, &programs, console)?;
    if let Some(output) = &plan.output {
        check_file(output, plan.force)?;
    }
    for (index, program) in programs.iter().enumerate() {
        if program
            .suspicion
            .is_some_and(|one| one != Suspicion::Script)
            && !program.may_use_openmp()
        {
            console.warn(format!(
                "{}: does not name an OpenMP runtime that can be replaced, so it takes no part in dividing the machine",
                program.numbered(index)
            ));
        }
    }
    let unpacked = fathomp_runtime::unpack()?;
    let hold = StopSignalsBlocked::begin()
        .map_err(|error| Failure::new(format!("cannot prepare for signals: {error}")))?;
    let mut session = Session {
        programs: programs.iter().collect(),
        library: &unpacked.library,
        strategy: plan.strategy,
        threads: plan.threads.map(|count| count.0),
        keep_teams: plan.keep_teams,
        advice: expected
            .as_ref()
            .map_or(Vec::new(), |all| all.files.clone()),
        slice: Duration::from_millis(plan.time_slice.into()),
        outputs: Outputs::Discarded,
        events: plan.output.is_some(),
    };
    if plan.compare {
        return compared(plan, &session, &hold, console);
    }
    session.outputs = outputs(plan, &programs, console)?;
    let together = session.run(&hold)?;
    report_failures(plan, &programs, &together.ended);
    let answer = Answer {
        strategy: plan.strategy.name(),
        wall_ns: u64::try_from(together.wall.as_nanos()).unwrap_or(u64::MAX),
        programs: programs
            .iter()
            .enumerate()
            .zip(&together.ended)
            .map(|((index, program), ended)| one(plan, index, program, ended))
            .collect(),
    };
    console.result("fathomp.share", &answer, || text(plan, &answer))?;
    if let (Some(path), Some(timeline)) = (&plan.output, &together.timeline) {
        let page = crate::core_partition::timeline::page(
            &programs,
            plan.strategy,
            timeline,
            &together.ended,
        )?;
        write_file(path, page.as_bytes())?;
        console.say(format!("wrote {}", path.display()));
    }
    let failed = together
        .ended
        .iter()
        .map(Ended::exit_code)
        .find(|code| *code != 0);
    Ok(failed.unwrap_or(0))
}

/// The programs, each of which can be started.
fn examine(plan: &Share) -> Result<Vec<Program>, Failure> {
    let usage = |sentence: String| Failure::new(sentence).with_code(exit::USAGE);
    let separator = plan.separator.to_string_lossy();
    let commands: Vec<_> = plan.commands().collect();
    if commands.iter().any(|one| one.is_empty()) {
        return Err(usage(format!(
            "there is no program between two {separator}: write {separator} PROG ARGS {separator} PROG ARGS"
        )));
    }
    if asks_for_nodes(&of_this_process) {
        return Err(usage(format!(
            "{NODES} asks for programs on several nodes, which cannot divide one machine: unset it"
        )));
    }
    match commands.len() {
        1 => Err(usage(format!(
            "there is only one program to share the machine: give a second one behind {separator}, or use `fathomp run`"
        ))),
        count if count > PROGRAMS_MAX => Err(usage(format!(
            "{count} programs are too many for one machine: give at most {PROGRAMS_MAX}"
        ))),
        _ => commands
            .into_iter()
            .map(|command| program::examine(command).map_err(Failure::from))
            .collect(),
    }
}

/// What is expected of programs, in files that go with this.
struct Expected {
    _directory: TempDir,
    files: Vec<Option<PathBuf>>,
}

/// Finds the program that each advice is for.
fn expected(
    plan: &Share,
    programs: &[Program],
    console: Console,
) -> Result<Option<Expected>, Failure> {
    if plan.advice.is_empty() {
        return Ok(None);
    }
    let usage = |sentence: String| Failure::new(sentence).with_code(exit::USAGE);
    if plan.strategy != Strategy::Hints {
        return Err(usage(format!(
            "--strategy {} does not look at regions: leave --advice out, or divide by hints",
            plan.strategy.name()
        )));
    }
    let temporary = |error: &std::io::Error| Failure::unwritable(&std::env::temp_dir(), error);
    let directory = tempfile::Builder::new()
        .prefix("fathomp-share-")
        .tempdir()
        .map_err(|error| temporary(&error))?;
    let mut files = vec![None; programs.len()];
    for path in &plan.advice {
        let mut refused = None;
        let mut fits = false;
        for (index, program) in programs.iter().enumerate() {
            let (table, doubt) = match teams::expectation(path, program) {
                Ok(found) => found,
                Err(error) => {
                    // That of a program with the same name says most.
                    if refused.is_none() || error.is_about(program) {
                        refused = Some(error);
                    }
                    continue;
                }
            };
            fits = true;
            if files[index].is_some() {
                return Err(usage(format!(
                    "{}: there is other advice for {} already: give one file for each program",
                    path.display(),
                    program.numbered(index)
                )));
            }
            let file = directory.path().join(index.to_string());
            fs::write(&file, table.to_text()).map_err(|error| temporary(&error))?;
            files[index] = Some(file);
            doubt.into_iter().for_each(|doubt| console.warn(doubt));
        }
        if let (false, Some(error)) = (fits, refused) {
            return Err(error.into());
        }
    }
    Ok(Some(Expected {
        _directory: directory,
        files,
    }))
}

fn outputs(plan: &Share, programs: &[Program], console: Console) -> Result<Outputs, Failure> {
    if plan.mix {
        return Ok(Outputs::Mixed {
            stderr: console.json,
        });
    }
    let directory = &plan.directory;
    let failed = |source| {
        Failure::of(&ShareError::Outputs {
            path: directory.clone(),
            source,
        })
    };
    fs::create_dir_all(directory).map_err(failed)?;
    for (index, program) in programs.iter().enumerate() {
        check_file(&file(directory, index, program, "out"), plan.force)?;
        check_file(&file(directory, index, program, "err"), plan.force)?;
    }
    Ok(Outputs::Files(directory.clone()))
}

fn file(directory: &Path, index: usize, program: &Program, end: &str) -> std::path::PathBuf {
    directory.join(format!("{}.{end}", program.numbered(index)))
}

fn one(plan: &Share, index: usize, program: &Program, ended: &Ended) -> One {
    let path = |end: &str| {
        let path = file(&plan.directory, index, program, end);
        (!plan.mix).then(|| path.display().to_string())
    };
    One {
        name: program.numbered(index),
        command: program
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        exit_code: ended.exit_code(),
        ended: ended.describe(),
        wall_ns: ended.wall_ns(),
        stdout: path("out"),
        stderr: path("err"),
    }
}

fn report_failures(plan: &Share, programs: &[Program], ended: &[Ended]) {
    for (index, (program, one)) in programs.iter().zip(ended).enumerate() {
        if one.exit_code() != 0 && one.interrupted.is_none() {
            let see = match plan.mix {
                true => String::new(),
                false => format!(
                    ": see {}",
                    file(&plan.directory, index, program, "err").display()
                ),
            };
            complain(
                "",
                &format!(
                    "{} ended with {}{see}",
                    program.numbered(index),
                    one.describe()
                ),
            );
        }
    }
}

fn text(plan: &Share, answer: &Answer) -> String {
    let mut text = String::new();
    for one in &answer.programs {
        let place = one
            .stdout
            .as_ref()
            .map_or_else(String::new, |path| format!(", output in {path}"));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}: {}, {}{place}",
            one.name,
            units::duration(one.wall_ns as f64),
            one.ended
        );
    }
    let _ = writeln!(
        text,
        "together: {} ({})",
        units::duration(answer.wall_ns as f64),
        plan.strategy.name()
    );
    text
}

fn compared(
    plan: &Share,
    session: &Session<'_>,
    hold: &StopSignalsBlocked,
    console: Console,
) -> Outcome {
    let comparison = compare(session, plan.repeat, hold, |done, all| {
        if done == 0 {
            console.say(format!("{all} runs are made"));
        }
    })
    .map_err(|error| {
        let code = match error {
            CompareError::Stopped => Ending::Signalled(Signal::SIGINT as i32).shell_code(),
            _ => exit::FAILED,
        };
        Failure::of(&error).with_code(code)
    })?;
    console.result("fathomp.share.compare", &comparison, || table(&comparison))?;
    Ok(0)
}

fn table(comparison: &Comparison) -> String {
    let number = |one: &Estimate| {
        format!(
            "{:.3} [{:.3}, {:.3}]",
            one.value, one.interval.low, one.interval.high
        )
    };
    let mut text = String::new();
    for (name, alone) in comparison.programs.iter().zip(&comparison.alone_s) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name} alone: {} s", number(alone));
    }
    text.push('\n');
    let mut grid = Grid::new("strategy").columns([
        "together s",
        "programs per hour",
        "slowdown",
        "STP",
        "over plain",
    ]);
    for one in &comparison.strategies {
        let per_hour = &one.per_hour;
        let [low, high] = [per_hour.interval.low, per_hour.interval.high];
        let per_hour = format!("{:.0} [{low:.0}, {high:.0}]", per_hour.value);
        let [wall, slowdown] = [&one.wall_s, &one.slowdown].map(number);
        let [stp, over_plain] = [&one.stp, &one.over_plain].map(number);
        grid.row(
            one.strategy,
            vec![wall, per_hour, slowdown, stp, over_plain],
        );
    }
    text += &grid.render(NO_TERMINAL);
    text.push_str(
        "\nMedians with 95 % intervals. slowdown: time together over time alone, geometric mean \
         over programs;\nSTP: sum over programs of time alone over time together; over plain: \
         programs per hour over those of plain sharing, in pairs.\n",
    );
    text
}

impl Strategy {
    /// In words, for the page.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Hints => "region by region, by hints",
            Self::Plain => "as the kernel shares processors",
            Self::Gang => "by turns",
            Self::Halves => "in equal parts",
        }
    }
}
