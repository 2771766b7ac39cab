//! `fathomp skyline`: what a recording made with `--paging` shows.

use crate::args::{Axis, Skyline};
use crate::opened::Opened;
use fathomp_console::console::{self, Console};
use fathomp_console::failure::{Failure, Outcome};
use fathomp_console::output;
use fathomp_paging::setup::{TaskNumber, TaskRule};
use fathomp_paging::{Activity, Counter, State, StateSet, Task, TaskId};
use fathomp_paging_pages::{self as pages, MemoryCurve, PagingFacts, SkylineOptions};
use fathomp_report::text::Glyphs;
use fathomp_skyline::questions::gang;
use fathomp_skyline::questions::pages::Advice;
use fathomp_skyline::{Analysis, Selection, Settings};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The analysis, which names schema and version itself, and what else is known.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    analysis: &'a Analysis,
    recording: &'a Path,
    program: &'a str,
    /// I/O calls that were seen and that were made.
    io_calls: Option<(u64, u64)>,
    /// Recorded tasks of all, as n_m; empty if all were.
    part: &'a str,
    merged: u64,
    lost: u64,
    /// What is wrong with the recording, beside the analysis's own problems.
    recording_problems: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<&'a fathomp_faults::FaultFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'a MemoryCurve>,
    #[serde(skip_serializing_if = "<[Advice]>::is_empty")]
    advice: &'a [Advice],
    /// What --gang asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    gang: Option<&'a gang::Answer>,
}

/// Shows a recording.
///
/// # Errors
///
/// Fails if it cannot be read, or what was asked for cannot be written.
pub(crate) fn skyline(plan: &Skyline, console: Console) -> Outcome {
    if let Some(file) = &plan.csv {
        output::check_file(file, plan.force)?;
    }
    if let Some(directory) = &plan.gnuplot {
        output::check_directory(directory, plan.force)?;
    }
    let opened = Opened::new(&plan.recording)?;
    let tasks = plan
        .tasks
        .as_ref()
        .map(|rule| chosen(opened.tasks(), rule))
        .transpose()?;
    let paging = opened.facts(&settings(plan))?;
    write_exports(plan, &paging, tasks.as_deref(), console)?;
    let gang = plan.gang.map(|wait| ask(&paging, wait.0)).transpose()?;
    if console.json {
        return answer(plan, &paging, gang.as_ref()).map(|()| 0);
    }
    let options = SkylineOptions {
        width: console.width(),
        glyphs: glyphs(),
        axis: match plan.axis {
            Axis::Wall => fathomp_skyline::Axis::Wall,
            Axis::Phases => fathomp_skyline::Axis::Phases,
        },
        states: plan.state,
        all_counters: plan.counters().is_some(),
        tasks,
        published: plan.published,
    };
    console::print(&pages::skyline(&paging, &options))?;
    if let Some(gang) = &gang {
        console::print(&pages::gang(gang, options.width))?;
    }
    Ok(0)
}

/// Time to switch a processor to another task, as Linux on common machines takes it.
const SWITCH_NS: u64 = 1_500;
/// The same for all processors together, which have to be told.
const GANG_SWITCH_NS: u64 = 5_000;
/// Part of the tasks that wait when all processors are switched.
const QUORUM: f64 = 0.5;
/// Counters whose pages tasks wait for, the one that is asked about first.
const WAITED_FOR: [Counter; 3] = [
    Counter::DsmFetchFaults,
    Counter::MajorFaults,
    Counter::PageIns,
];

/// Whether switching programs would hide waits for pages of `wait` each.
fn ask(paging: &PagingFacts, wait: Duration) -> Result<gang::Answer, Failure> {
    let situation = gang::Situation {
        fault_ns: u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX),
        switch_ns: SWITCH_NS,
        gang_switch_ns: GANG_SWITCH_NS,
        quorum: QUORUM,
    };
    let answers = WAITED_FOR.iter().zip(paging.bins.iter().cycle());
    let mut answers = answers.filter_map(|(counter, bins)| {
        let selection = Selection {
            counter: *counter,
            states: StateSet::ALL,
        };
        let scripts = gang::scripts(bins, selection, situation.fault_ns);
        gang::ask(&scripts, &situation)
    });
    answers.next().ok_or_else(|| {
        Failure::new("--gang asks about tasks that wait for pages: fewer than two tasks of this recording fetched pages from other nodes or read them from a disk")
    })
}

/// What is to be analysed.
fn settings(plan: &Skyline) -> Settings {
    let window = plan.window;
    Settings {
        from_ns: window.map_or(0, |window| window.from_ns),
        to_ns: window.and_then(|window| window.to_ns),
        bins: plan.bins as usize,
        peak_factor: plan.factor,
        peaks_kept: plan.peaks as usize,
        selections: selections(plan),
        keep_published: plan.published,
        ..Settings::default()
    }
}

/// Counters in the states that were asked for; in all, each activity and each state if only
/// counters were. None if nothing was asked for.
fn selections(plan: &Skyline) -> Option<Vec<Selection>> {
    let counters: Vec<Counter> = match (plan.counters(), plan.state) {
        (None, None) => return None,
        (Some(counters), _) => counters.iter().collect(),
        (None, Some(_)) => Counter::ALL.to_vec(),
    };
    let states: Vec<StateSet> = match plan.state {
        Some(states) => vec![states],
        None => {
            let activities = Activity::ALL.map(|activity| {
                let within = State::ALL.into_iter();
                within.filter(|state| state.activity == activity).collect()
            });
            let single = State::ALL.map(|state| StateSet::NONE.with(state));
            let all = std::iter::once(StateSet::ALL);
            all.chain(activities).chain(single).collect()
        }
    };
    let pairs = counters.into_iter().flat_map(|counter| {
        let states = states.iter();
        states.map(move |states| Selection {
            counter,
            states: *states,
        })
    });
    Some(pairs.collect())
}

/// The tasks that a rule chooses.
fn chosen(tasks: &[Task], rule: &TaskRule) -> Result<Vec<TaskId>, Failure> {
    // Numbers that count processes, and threads within them, as they began.
    let mut processes: BTreeMap<u32, u32> = BTreeMap::new();
    let mut chosen = Vec::new();
    let mut by_begin: Vec<&Task> = tasks.iter().collect();
    by_begin.sort_by_key(|task| (task.begin, task.id));
    let mut threads: BTreeMap<u32, u32> = BTreeMap::new();
    for task in by_begin {
        let next = processes.len() as u32;
        let process = *processes.entry(task.process).or_insert(next);
        let thread = threads.entry(task.process).or_default();
        let within = *thread;
        *thread += 1;
        let number = match rule.by {
            TaskNumber::Task => Some(task.id.0),
            TaskNumber::Process => Some(process),
            TaskNumber::Thread => Some(task.openmp_thread.unwrap_or(within)),
            TaskNumber::Rank => task.rank,
            TaskNumber::Node => task.node,
        };
        if number.is_some_and(|number| rule.chooses(number)) {
            chosen.push(task.id);
        }
    }
    if chosen.is_empty() {
        return Err(Failure::new(format!(
            "--tasks chooses none of the {} tasks of this recording: `fathomp skyline` without it lists them with their numbers",
            tasks.len()
        )));
    }
    chosen.sort_unstable();
    Ok(chosen)
}

fn write_exports(
    plan: &Skyline,
    paging: &PagingFacts,
    tasks: Option<&[TaskId]>,
    console: Console,
) -> Result<(), Failure> {
    let is_asked = |id: &TaskId| tasks.is_some_and(|tasks| tasks.contains(id));
    let all = paging.analysis.tasks.iter().enumerate();
    let places: Vec<usize> = all
        .filter(|(_, task)| is_asked(&task.id))
        .map(|(place, _)| place)
        .collect();
    if let Some(path) = &plan.csv {
        output::stream_file(path, |out| {
            pages::skyline_csv(paging, &places, out).map_err(|error| Failure::of(&error))
        })?;
        console.say(format!("wrote {}", path.display()));
    }
    if let Some(directory) = &plan.gnuplot {
        let files = pages::skyline_gnuplot(paging, plan.state, &places);
        output::write_plots(directory, &files, console)?;
    }
    Ok(())
}

fn answer(
    plan: &Skyline,
    paging: &PagingFacts,
    gang: Option<&gang::Answer>,
) -> Result<(), Failure> {
    let recording = &paging.recording;
    console::print_json(&Answer {
        analysis: &paging.analysis,
        recording: &plan.recording,
        program: &paging.program,
        io_calls: recording.io_calls,
        part: &recording.part,
        merged: recording.merged,
        lost: recording.lost,
        recording_problems: &recording.problems,
        faults: paging.faults.as_ref(),
        memory: paging.memory.as_ref(),
        advice: &paging.advice,
        gang,
    })
}

/// Blocks, unless the terminal is known to lack them.
fn glyphs() -> Glyphs {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    let has_blocks = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    if has_blocks && !is_dumb {
        Glyphs::Blocks
    } else {
        Glyphs::Ascii
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_paging::testing::Builder;
    use fathomp_paging::{Counts, Selection};

    #[test]
    fn tasks_are_chosen_by_each_of_their_numbers() {
        let mut builder = Builder::new();
        for rank in 0..4 {
            let task = builder.task();
            task.stay(1_000, State::active(Activity::Compute), Counts::ZERO);
            task.process().rank = Some(rank + 10);
        }
        let recording = builder.build();
        let of = |text: &str| {
            let rule = Selection::parse_tasks(text).unwrap();
            chosen(recording.tasks(), &rule)
        };
        let ids = |ids: &[u32]| ids.iter().map(|id| TaskId(*id)).collect::<Vec<_>>();
        assert_eq!(of("0,2-3").unwrap(), ids(&[0, 2, 3]));
        assert_eq!(of("rank:11-12").unwrap(), ids(&[1, 2]));
        assert_eq!(of("process:3").unwrap(), ids(&[3]));
        assert_eq!(of("thread:0").unwrap().len(), 4);
        let refused = of("node:0").unwrap_err();
        assert!(
            refused.sentence.contains("none of the 4 tasks"),
            "{}",
            refused.sentence
        );
    }
}
