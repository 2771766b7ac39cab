//! `fathomp run` and `fathomp record` on hosts, and in what `mpirun` or `srun` has started.

use crate::args::cluster::{OnNodes, TOO_FEW_NODES};
use crate::args::{Record, Run, ThreadCount};
use crate::commands::record_end::{Left, code, tell};
use crate::console::Console;
use crate::failure::{Failure, exit};
use crate::hosts::{self, Gathered};
use crate::launch::RanElsewhere;
use crate::recording::Accesses;
use crate::{paging, program};

/// Runs the program on hosts, if that is asked for.
pub(in crate::commands) fn run(
    plan: &Run,
    console: Console,
) -> Result<Option<RanElsewhere>, Failure> {
    let OnNodes { on, cluster } = &plan.nodes.nodes;
    match hosts::gather(on, &plan.program.command, cluster.nodes)? {
        Gathered::Member(exit_code) => Ok(Some(RanElsewhere {
            exit_code,
            wall_ns: None,
        })),
        Gathered::Participants(participants) => {
            let program = program::examine(&plan.program.command)?;
            hosts::run(plan, &program, participants, console).map(Some)
        }
        Gathered::Alone => Ok(None),
    }
}

/// Records the program on hosts, if that is asked for; the exit code.
pub(in crate::commands) fn record(
    plan: &Record,
    (paging, threads): (&Option<paging::Plan>, Option<ThreadCount>),
    console: Console,
) -> Result<Option<u8>, Failure> {
    let OnNodes { on, cluster } = &plan.nodes.nodes;
    if let Some(paging) = paging.as_ref().filter(|_| on.are_asked_for())
        && let Some(sentence) = paging.contradiction_on_hosts()
    {
        return Err(Failure::new(sentence).with_code(exit::USAGE));
    }
    let participants = match hosts::gather(on, &plan.program.command, cluster.nodes)? {
        Gathered::Member(code) => return Ok(Some(code)),
        Gathered::Participants(participants) => participants,
        Gathered::Alone => return Ok(None),
    };
    if plan.nodes.accesses && participants.nodes() < 2 {
        return Err(Failure::new(TOO_FEW_NODES).with_code(exit::USAGE));
    }
    let program = program::examine(&plan.program.command)?;
    let asked = (paging.clone(), threads);
    let recorded = hosts::record(plan, asked, &program, participants, console)?;
    let paging = recorded.paging.as_ref();
    let paged = paging.is_some_and(paging::Recorded::is_something);
    let left = Left {
        of_ranks: None,
        records: recorded.records,
        problems: &recorded.problems,
        code: code(recorded.exit_code, recorded.records > 0 || paged),
        wall_ns: recorded.wall_ns,
        watched: String::new(),
        paging,
        curve: None,
        teams: None,
    };
    tell(&plan.output, left, console).map(Some)
}

/// What nodes of this machine are to note of their accesses.
pub(in crate::commands) fn accesses(plan: &Record) -> Option<Accesses> {
    plan.nodes.accesses.then_some(Accesses {
        lines: plan.nodes.lines,
        join: fathomp_cluster_commands::accesses::join,
    })
}
