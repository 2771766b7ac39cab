//! The run of a study that looks which cache lines threads share: on nodes, each with a thread.

use crate::args::ThreadCount;
use crate::failure::Failure;
use crate::launch::{Stderr, Stdout};
use crate::output;
use crate::recording::Streams;
use crate::study::job::{Job, Runs, UNEXPLAINED_SHARE_MIN};
use crate::study::{SHARING, Study};
use fathomp_cluster_commands::args::{LIMIT_S, nodes_for};
use fathomp_cluster_commands::sharing;
use fathomp_diagnosis::Diagnosis;
use fathomp_shared_lines::Findings;

/// Other programs that used more of the processors than this kept threads from running at
/// the same time.
const DISTURBED: f64 = 0.25;
/// A look that nobody asked for takes no longer than this.
const UNASKED_S: u32 = 20;

/// Looks for shared lines, if that is worthwhile, as this step of the study.
pub(in crate::commands) fn look_for_sharing(
    job: &Job<'_>,
    study: &mut Study,
    (runs, step): (&Runs, usize),
    diagnosis: &Diagnosis,
) -> Result<Option<Findings>, Failure> {
    let Some(seconds) = seconds(job, runs, diagnosis) else {
        return Ok(None);
    };
    job.progress
        .at(step, "looking for cache lines that threads share");
    look(job, study, seconds)
}

/// Seconds for which to look at shared cache lines, if that is worthwhile: because it
/// was asked for, or because `diagnosis` says that only this tells why computing takes
/// longer with more threads. Where other programs kept threads from running at the same
/// time, they could not hinder each other: then the program's atomic instructions are
/// reason enough.
fn seconds(job: &Job<'_>, runs: &Runs, diagnosis: &Diagnosis) -> Option<u32> {
    if runs.interrupted.is_some() || runs.failed.is_some() {
        return None;
    }
    if job.plan.nodes.sharing {
        return Some(LIMIT_S);
    }
    let open = diagnosis
        .of_program()
        .any(|cause| cause.kind.is_untold() && cause.share() >= UNEXPLAINED_SHARE_MIN);
    let disturbed = runs
        .analyses
        .iter()
        .any(|one| one.program.others_used.unwrap_or(0.0) > DISTURBED && !one.program.rehearsal);
    let worthwhile = open || (disturbed && sharing::has_atomics(&job.program.path));
    (!job.plan.no_sharing && !job.plan.quick && worthwhile && sharing::check(job.program).is_ok())
        .then_some(UNASKED_S)
}

/// Runs the program once more, on nodes, and looks which cache lines they share. What
/// goes wrong is a note, and the study goes on.
fn look(job: &Job<'_>, study: &mut Study, limit_s: u32) -> Result<Option<Findings>, Failure> {
    let most = job.teams.iter().map(|team| team.threads());
    let most = most.max().unwrap_or(2);
    let looked = sharing::look(&sharing::Request {
        program: job.program,
        unpacked: job.unpacked,
        nodes: nodes_for(ThreadCount(most)),
        limit_s,
        machine: job.machine,
        streams: Streams {
            stdin: job.stdin.for_run(false),
            stdout: Stdout::Discard,
            stderr: Stderr::File(study.path("sharing.stderr")),
        },
    });
    let findings = match looked {
        Ok(looked) => looked.findings,
        Err(failure) => {
            study.index.notes.push(format!(
                "Which cache lines threads share is not known: {}.",
                failure.sentence
            ));
            return Ok(None);
        }
    };
    let text = serde_json::to_string_pretty(&findings)? + "\n";
    output::write_file(&study.path(SHARING), text.as_bytes())?;
    Ok(Some(findings))
}
