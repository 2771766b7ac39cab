//! Does switching all tasks at once, or each on its own, hide the time for pages?
//!
//! The tasks of a recording are run again in arithmetic, one per processor, beside a second
//! program that always has work. When a task waits for a page, its processor may wait,
//! switch to the second program by itself, or all processors switch together.

mod simulate;

use crate::bins::Bins;
use crate::settings::Selection;
use fathomp_types::units;
use serde::Serialize;
use simulate::simulate;

/// Faults that are simulated at most; of longer scripts, the beginning.
pub const FAULTS_MAX: u64 = 2_000_000;

/// What a task does until it faults no more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// One after the other.
    pub segments: Vec<Segment>,
}

/// A stretch of a task's life: it computes, faulting at equal distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Time that it computes.
    pub compute_ns: u64,
    /// Pages that it waits for.
    pub faults: u64,
    /// Whether it then waits at a barrier for all others.
    pub barrier: bool,
}

/// What things cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// Time from a fault until its page is there.
    pub fault_ns: u64,
    /// Time to switch a processor to another task, one way.
    pub switch_ns: u64,
    /// Time to switch all processors together, one way.
    pub gang_switch_ns: u64,
    /// Part of the tasks that must wait for pages for all processors to switch; 0 to 1.
    /// At least one has to.
    pub quorum: f64,
}

/// What is done with a processor whose task waits for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// It waits.
    Wait,
    /// It runs the second program until the page is there.
    Each,
    /// When enough tasks wait, all processors run the second program until all these have
    /// their pages.
    Gang,
}

/// What a policy gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Which.
    pub policy: Policy,
    /// When the last task is done.
    pub makespan_ns: u64,
    /// Time that tasks wait for pages, summed over tasks.
    pub waits_ns: u64,
    /// Part of these waits in which their processor runs the second program.
    pub hidden_share: f64,
    /// Time that tasks which could run are kept from it, summed over tasks.
    pub held_ns: u64,
    /// Time lost to switching, summed over processors.
    pub switching_ns: u64,
    /// Time of the second program, summed over processors.
    pub other_ns: u64,
    /// Time in which it has all processors at once: all that counts for a program whose
    /// tasks wait for each other.
    pub other_together_ns: u64,
    /// Time that both programs compute / time of all processors.
    pub utilisation: f64,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Tasks, each with a processor.
    pub tasks: u64,
    /// Pages that were waited for.
    pub faults: u64,
    /// Part of the record that was simulated.
    pub simulated_share: f64,
    /// Of the time in which any task waits, the part in which all do; if all just wait.
    pub all_at_once_share: f64,
    /// The same if tasks waited as long, but independently.
    pub all_at_once_by_chance: f64,
    /// By policy: waiting, each by itself, all at once.
    pub outcomes: [Outcome; 3],
    /// The answer in words.
    pub sentence: String,
}

/// The scripts of all tasks that counted any of `selection`, such as page-ins: of each bin,
/// the faults, and as computing what waiting for them leaves of its length. Barriers, where
/// known, are those of the phases, at most one per bin.
#[must_use]
pub fn scripts(bins: &Bins, selection: Selection, fault_ns: u64) -> Vec<Script> {
    let tasks = bins.threads_that_count(selection);
    let mut barriers = vec![false; bins.window.bins];
    for end in bins.phases.iter().flat_map(|phases| {
        let all = phases.ends_ns.len().saturating_sub(1);
        &phases.ends_ns[..all]
    }) {
        let bin = end.saturating_sub(bins.window.from_ns) / bins.window.bin_ns;
        if let Some(barrier) = barriers.get_mut(bin as usize) {
            *barrier = true;
        }
    }
    let script = |task: usize| {
        let mut segments: Vec<Segment> = Vec::new();
        for (faults, barrier) in bins.of_task(task, selection).into_iter().zip(&barriers) {
            let compute_ns = bins
                .window
                .bin_ns
                .saturating_sub(faults.saturating_mul(fault_ns));
            match segments.last_mut() {
                // Stretches without faults and barriers are one.
                Some(last) if last.faults == 0 && !last.barrier => {
                    last.compute_ns = last.compute_ns.saturating_add(compute_ns);
                    (last.faults, last.barrier) = (faults, *barrier);
                }
                _ => segments.push(Segment {
                    compute_ns,
                    faults,
                    barrier: *barrier,
                }),
            }
        }
        Script { segments }
    };
    tasks.into_iter().map(script).collect()
}

/// Compares the policies. None if there are fewer than two tasks, or no faults.
#[must_use]
pub fn ask(scripts: &[Script], situation: &Situation) -> Option<Answer> {
    let (scripts, simulated_share) = cut(scripts);
    let faults = scripts.iter().flat_map(|script| &script.segments);
    let faults = faults.fold(0, |sum: u64, segment| sum.saturating_add(segment.faults));
    if scripts.len() < 2 || faults == 0 {
        return None;
    }
    let runs = [Policy::Wait, Policy::Each, Policy::Gang]
        .map(|policy| simulate(&scripts, situation, policy));
    let [waiting, ..] = &runs;
    let (all_at_once_share, all_at_once_by_chance) = (waiting.all_at_once, waiting.by_chance);
    let outcomes = runs.map(|run| run.outcome);
    Some(Answer {
        tasks: scripts.len() as u64,
        faults,
        simulated_share,
        all_at_once_share,
        all_at_once_by_chance,
        sentence: sentence(&outcomes, all_at_once_share, all_at_once_by_chance),
        outcomes,
    })
}

/// The beginnings of scripts, as far as faults can be simulated, and which part that is.
fn cut(scripts: &[Script]) -> (Vec<Script>, f64) {
    let of = |segments: &[Segment]| {
        let faults = |sum: u64, segment: &Segment| sum.saturating_add(segment.faults);
        segments.iter().fold(0, faults)
    };
    let longest = scripts
        .iter()
        .map(|script| script.segments.len())
        .max()
        .unwrap_or(0);
    let total = |length: usize| {
        scripts.iter().fold(0_u64, |sum, script| {
            let length = length.min(script.segments.len());
            sum.saturating_add(of(&script.segments[..length]))
        })
    };
    if total(longest) <= FAULTS_MAX {
        return (scripts.to_vec(), 1.0);
    }
    // The longest beginning that is short enough.
    let (mut low, mut high) = (0, longest);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if total(middle) <= FAULTS_MAX {
            low = middle;
        } else {
            high = middle;
        }
    }
    let cut = |script: &Script| Script {
        segments: script.segments[..low.min(script.segments.len())].to_vec(),
    };
    (
        scripts.iter().map(cut).collect(),
        low as f64 / longest as f64,
    )
}

fn sentence(outcomes: &[Outcome; 3], all: f64, by_chance: f64) -> String {
    let [wait, each, gang] = outcomes;
    let together = |outcome: &Outcome| units::duration(outcome.other_together_ns as f64);
    let slower = |outcome: &Outcome| {
        let ratio = outcome.makespan_ns as f64 / wait.makespan_ns.max(1) as f64;
        format!("takes {} times as long", units::ratio(ratio))
    };
    let met = format!(
        "All tasks wait for pages at once for {} of the time in which any does ({} if they \
         were independent).",
        units::percent(all),
        units::percent(by_chance)
    );
    let together_or_not = match (gang.switching_ns, each.switching_ns) {
        (0, 0) => {
            return format!(
                "{met} Switching is not worth its cost: a page is there before a processor has \
                 switched twice."
            );
        }
        (0, _) => "All processors never switch: too few tasks wait, or too shortly;".to_owned(),
        _ => format!(
            "Switching all at once hides {} of the waits, keeps tasks from running for {} and {};",
            units::percent(gang.hidden_share),
            units::duration(gang.held_ns as f64),
            slower(gang)
        ),
    };
    format!(
        "{met} {together_or_not} switching each by itself hides {} and {}. A second program that \
         needs all processors together gets {} of time by the first, {} by the second.",
        units::percent(each.hidden_share),
        slower(each),
        together(gang),
        together(each),
    )
}

#[cfg(test)]
mod tests;
