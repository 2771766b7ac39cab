//! What `fathomp record` leaves behind, on this machine or on several hosts, and what is said of it.

use crate::console::Console;
use crate::failure::{Outcome, exit};
use crate::paging::{self, Curve};
use crate::teams::Chosen;
use serde::Serialize;
use std::path::Path;

/// What a run has left, on this machine or on several hosts.
pub(super) struct Left<'a> {
    /// Where all ranks record, if this is one of several.
    pub(super) of_ranks: Option<&'a Path>,
    pub(super) records: u64,
    pub(super) problems: &'a [String],
    /// Of the command.
    pub(super) code: u8,
    pub(super) wall_ns: u64,
    /// Which runtimes were watched, as the end of a sentence.
    pub(super) watched: String,
    pub(super) paging: Option<&'a paging::Recorded>,
    pub(super) curve: Option<&'a Curve>,
    pub(super) teams: Option<Chosen>,
}

#[derive(Serialize)]
struct Answer<'a> {
    recording: &'a Path,
    records: u64,
    problems: &'a [String],
    exit_code: u8,
    wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    paging: Option<Paging>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'a Curve>,
    #[serde(skip_serializing_if = "Option::is_none")]
    teams: Option<Chosen>,
}

/// What was recorded of paging.
#[derive(Serialize)]
struct Paging {
    tasks: usize,
    processes: usize,
    io_calls_seen: Option<u64>,
    io_calls_made: Option<u64>,
}

/// The program's exit code; ours if it ended well and there is nothing to show
/// for it.
pub(super) fn code(of_program: u8, is_something: bool) -> u8 {
    match of_program {
        0 if !is_something => exit::LAUNCHER,
        code => code,
    }
}

/// Says what was recorded. The command's exit code.
pub(super) fn tell(output: &Path, left: Left<'_>, console: Console) -> Outcome {
    for problem in left.problems {
        console.warn(problem);
    }
    let shown = output.display();
    if left.records > 0 {
        console.say(format!(
            "recorded {} events{} in {shown}: see `fathomp regions {}`",
            left.records,
            left.watched,
            left.of_ranks.unwrap_or(output).display()
        ));
    }
    if let Some(paging) = left.paging.filter(|paging| paging.is_something()) {
        let coverage = paging.coverage().map(|said| format!(" ({said})"));
        console.say(match &paging.elsewhere {
            Some(address) => format!(
                "recorded the paging of {} at {address}: see `fathomp skyline` there",
                some(paging.processes, "process", "processes"),
            ),
            None => format!(
                "recorded the paging of {} of {} in {shown}{}: see `fathomp skyline {shown}`",
                some(paging.tasks, "task", "tasks"),
                some(paging.processes, "process", "processes"),
                coverage.unwrap_or_default(),
            ),
        });
    }
    if let Some(curve) = left.curve {
        for line in curve.lines() {
            console.say(line);
        }
    }
    if console.json {
        let answer = Answer {
            recording: output,
            records: left.records,
            problems: left.problems,
            exit_code: left.code,
            wall_ns: left.wall_ns,
            paging: left.paging.map(|paging| Paging {
                tasks: paging.tasks,
                processes: paging.processes,
                io_calls_seen: paging.io_calls.map(|(seen, _)| seen),
                io_calls_made: paging.io_calls.map(|(_, made)| made),
            }),
            memory: left.curve,
            teams: left.teams,
        };
        console.result("fathomp.record", &answer, String::new)?;
    }
    Ok(left.code)
}

/// `1 task`, `3 tasks`.
fn some(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}
