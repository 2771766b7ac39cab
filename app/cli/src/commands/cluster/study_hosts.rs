//! `fathomp study --hosts`: measure the hosts, record on more and more of them, report.

use super::price;
use crate::args::cluster::Cluster;
use crate::args::{Study as Plan, ThreadCount};
use crate::commands::advise;
use crate::commands::study_end::{tell, words, write};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::hosts::Across;
use crate::launch::Stdin;
use crate::load::{self, Target};
use crate::program::Program;
use crate::progress::Progress;
use crate::study::job::{Elsewhere, Job};
use crate::study::team::Team;
use crate::study::{CLUSTER, Study};
use crate::{output, sources};
use fathomp_analysis::Analysis;
use fathomp_diagnosis::Soundness;
use fathomp_launch::Protocol;
use fathomp_predict::Outcome as Predicted;
use fathomp_predict::prices::Cluster as Prices;
use fathomp_report::Input;
use fathomp_runtime::Unpacked;
use fathomp_types::units::duration;
use std::path::Path;

/// Hosts whose nodes share memory by a protocol.
struct OnHosts<'a> {
    across: &'a Across,
    dsm: Protocol,
}

impl Elsewhere for OnHosts<'_> {
    fn recorder(
        &self,
        program: &Program,
        (nodes, threads): (u16, u32),
        directory: &Path,
    ) -> Program {
        let cluster = Cluster {
            nodes,
            dsm: self.dsm,
            ..Cluster::ONE
        };
        self.across
            .record(program, ThreadCount(threads), cluster, directory)
    }
}

/// The compiler of the program that measures the hosts.
const COMPILER: &str = "gcc";

/// Studies the program on these hosts.
pub(super) fn study(plan: &Plan, program: &Program, across: &Across, console: Console) -> Outcome {
    output::check_file(&plan.output, plan.force)?;
    Study::check(&plan.directory, plan.force)?;
    let unpacked = fathomp_runtime::unpack()?;
    let teams = Team::all(plan, Some(across.nodes()));
    let mut study = Study::create(&plan.directory, words(program))?;

    // Steps: measuring the hosts, the runs, comparing, reporting.
    let runs = teams.len() * plan.repeat.unwrap_or(1) as usize;
    let progress = Progress::start(console, runs + 3);
    progress.at(0, "measuring the hosts");
    let prices = measure(&mut study, plan, &unpacked, across)?;
    let elsewhere = OnHosts {
        across,
        dsm: plan.nodes.dsm,
    };
    let job = Job {
        plan,
        console,
        program,
        unpacked: &unpacked,
        runtime: None,
        teams: &teams,
        across: Some(&elsewhere),
        progress: &progress,
        stdin: Stdin::for_several_runs(study.path("stdin")),
        machine: None,
    };
    let mut runs_made = job.record_all(&mut study)?;
    job.compare_outputs(&study, &mut runs_made)?;

    progress.at(runs + 1, "comparing with models");
    let target = Target {
        machine: None,
        cores: None,
    };
    let compared = prices.and_then(|prices| {
        let notes = &mut study.index.notes;
        load::compare_or_note(&runs_made.analyses, &target, &prices, notes)
    });
    let recordings = study.recordings();
    let notes = &mut study.index.notes;
    let (regions, _) = advise::for_report(&recordings, &[], None, notes);
    let sources = sources::read(&runs_made.analyses);

    progress.at(runs + 2, "writing the report");
    study.save()?;
    let input = Input {
        sources: Some(&sources),
        regions: regions.as_ref(),
        analyses: &runs_made.analyses,
        nodes: compared.as_ref().and_then(Predicted::observed),
        notes: &study.index.notes,
        ..Input::default()
    };
    let verdict = input.conclude(Soundness::of(&runs_made.analyses));
    write(plan, &study, &input, &verdict)?;
    progress.finish();
    for sentence in scaling(&teams, &runs_made.analyses) {
        console.say(sentence);
    }
    tell(plan, &study, &runs_made, &input, &verdict, console)
}

/// What nodes cost on the hosts. Without that, nothing is predicted, but the study goes on.
fn measure(
    study: &mut Study,
    plan: &Plan,
    unpacked: &Unpacked,
    across: &Across,
) -> Result<Option<Prices>, Failure> {
    let cluster = Cluster {
        nodes: across.nodes(),
        dsm: plan.nodes.dsm,
        ..Cluster::ONE
    };
    // A network takes two hosts.
    if across.count() < 2 {
        return Ok(None);
    }
    match price::cluster(unpacked, cluster, Some(across), COMPILER, |_| {}) {
        Ok(measured) => {
            let text = serde_json::to_string_pretty(&measured.cluster)? + "\n";
            output::write_file(&study.path(CLUSTER), text.as_bytes())?;
            study.index.notes.extend(measured.doubts);
            Ok(Some(measured.cluster))
        }
        Err(error) => {
            let why = Failure::from(error).sentence;
            let note = format!("What nodes cost on the hosts was not measured: {why}.");
            study.index.notes.push(note);
            Ok(None)
        }
    }
}

/// How long the program took with each team, the first repetition of many for all, as sentences.
fn scaling(teams: &[Team], analyses: &[Analysis]) -> Vec<String> {
    let shortest = |team: &Team| {
        let same = teams.iter().cycle().zip(analyses);
        let times = same.filter(|(other, _)| *other == team);
        times.map(|(_, one)| one.wall_ns).min()
    };
    let base = teams.first().and_then(shortest);
    let mut sentences = Vec::new();
    for team in teams {
        let Some(ns) = shortest(team) else { continue };
        let speedup = match base {
            Some(base) if Some(team) != teams.first() => {
                format!(", {:.2} times as fast", base as f64 / ns.max(1) as f64)
            }
            _ => String::new(),
        };
        sentences.push(format!(
            "{}: {}{speedup}",
            team.counted(),
            duration(ns as f64)
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_repeated_runs_are_the_shortest() {
        let team = |nodes| Team::Hosts { nodes, threads: 2 };
        let run = |wall_ns| Analysis {
            wall_ns,
            ..Analysis::empty()
        };
        let runs = [
            run(8_000_000_000),
            run(4_000_000_000),
            run(9_000_000_000),
            run(5_000_000_000),
        ];
        assert_eq!(
            scaling(&[team(1), team(2)], &runs),
            [
                "1 node of 2 threads: 8.00 s",
                "2 nodes of 2 threads: 4.00 s, 2.00 times as fast"
            ]
        );
        // Interrupted after the first.
        assert_eq!(scaling(&[team(1), team(2)], &runs[..1]).len(), 1);
        assert!(scaling(&[team(1)], &[]).is_empty());
    }
}
