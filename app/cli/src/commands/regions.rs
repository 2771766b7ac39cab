//! `fathomp regions`: a recording, region by region.

use super::overheads;
use super::traces::{self, Source};
use crate::args::Regions;
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::{load, output};
use fathomp_analysis::{
    Analysis, Counts, Efficiency, Execution, Intrusion, LoopRow, MpiFacts, Problem, ProcessRow,
    ProgramFacts, Ranks, Region, ThreadRow, Times, WaitRow,
};
use fathomp_console::args::Seconds;
use fathomp_diagnosis::{RankCause, diagnose_ranks};
use fathomp_predict::counts::Counted;
use fathomp_report::export;
use fathomp_report::text::{self, RegionOptions};
use serde::Serialize;

/// An [`Analysis`] without its timeline.
#[derive(Serialize)]
struct Answer<'a> {
    program: &'a ProgramFacts,
    wall_ns: u64,
    threads: u32,
    team_size: u32,
    states: &'a Times,
    efficiency: &'a Efficiency,
    parallel_time_fraction: f64,
    parallel_work_fraction: f64,
    counts: &'a Counts,
    processes: &'a [ProcessRow],
    threads_seen: &'a [ThreadRow],
    regions: &'a [Region],
    loops: &'a [LoopRow],
    waits: &'a [WaitRow],
    #[serde(skip_serializing_if = "Option::is_none")]
    mpi: Option<&'a MpiFacts>,
    intrusion: &'a Intrusion,
    problems: &'a [Problem],
}

/// All ranks, and why they lose time.
#[derive(Serialize)]
struct RanksAnswer<'a> {
    #[serde(flatten)]
    ranks: &'a Ranks,
    causes: Vec<RankCause>,
}

/// Each execution in turn.
#[derive(Serialize)]
struct Executions<'a> {
    executions: &'a [Execution],
}

impl<'a> Answer<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        Self {
            program: &analysis.program,
            wall_ns: analysis.wall_ns,
            threads: analysis.threads,
            team_size: analysis.team_size,
            states: &analysis.states,
            efficiency: &analysis.efficiency,
            parallel_time_fraction: analysis.parallel_time_fraction,
            parallel_work_fraction: analysis.parallel_work_fraction,
            counts: &analysis.counts,
            processes: &analysis.processes,
            threads_seen: &analysis.threads_seen,
            regions: &analysis.regions,
            loops: &analysis.loops,
            waits: &analysis.waits,
            mpi: analysis.mpi.as_ref(),
            intrusion: &analysis.intrusion,
            problems: &analysis.problems,
        }
    }
}

/// All ranks of an MPI program, of which each has a recording of its own.
fn of_ranks(plan: &Regions, ranks: &load::AllRanks, console: Console) -> Outcome {
    let one_alone = [
        (plan.threads, "--threads"),
        (plan.instances, "--instances"),
        (plan.csv.is_some(), "--csv"),
        (plan.counts.is_some(), "--counts"),
        (plan.overheads.is_some(), "--overheads"),
    ];
    if let Some((_, option)) = one_alone.iter().find(|(asked, _)| *asked) {
        return Err(Failure::new(format!(
            "{option} is about one recording: name that of one rank, such as {}",
            ranks.directories[0].1.display()
        )));
    }
    traces::write(plan, &Source::Ranks(ranks), console)?;
    let all = &ranks.together;
    let answer = RanksAnswer {
        ranks: all,
        causes: diagnose_ranks(all),
    };
    console.result("fathomp.ranks", &answer, || {
        text::ranks(&ranks.program, all, console.width())
    })?;
    Ok(0)
}

pub(super) fn regions(plan: &Regions, console: Console) -> Outcome {
    for file in plan.csv.iter().chain(&plan.counts) {
        output::check_file(file, plan.force)?;
    }
    traces::check(plan)?;
    if let Some(ranks) = load::ranks(&plan.recording)? {
        return of_ranks(plan, &ranks, console);
    }
    let evidence = load::open(&plan.recording, None)?;
    if let Some(path) = &plan.csv {
        output::stream_file(path, |out| {
            export::csv(&evidence.analysis, out).map_err(|error| Failure::of(&error))
        })?;
        console.say(format!("wrote {}", path.display()));
    }
    if let (Some(path), Some(Seconds(time))) = (&plan.counts, plan.sequential) {
        let counted = Counted::from_analyses(&[&evidence.analysis], Some(time.as_secs_f64() * 1e9));
        let counted = counted.map_err(|error| Failure::of(&error))?;
        output::write_file(path, counted.to_csv().as_bytes())?;
        console.say(format!("wrote {}", path.display()));
    }
    traces::write(plan, &Source::One(&evidence.recording), console)?;
    if let Some(result) = &plan.overheads {
        let overheads = overheads::of(&evidence.analysis, result)?;
        console.result("fathomp.overheads", &overheads, || {
            overheads.text(console.width())
        })?;
        return Ok(0);
    }
    if plan.instances {
        let executions = fathomp_analysis::executions(&evidence.recording);
        console.result(
            "fathomp.executions",
            &Executions {
                executions: &executions,
            },
            || text::executions(&executions),
        )?;
        return Ok(0);
    }
    console.result("fathomp.regions", &Answer::new(&evidence.analysis), || {
        let options = RegionOptions {
            width: console.width(),
            threads: plan.threads,
        };
        text::regions(&evidence.analysis, options)
    })?;
    Ok(0)
}
