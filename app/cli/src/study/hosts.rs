//! A study on hosts: what nodes cost there, and what the runs come to.

use super::team::Team;
use super::{CLUSTER, Study};
use crate::args::{Cluster, Study as Plan};
use crate::failure::Failure;
use crate::hosts::Across;
use crate::{calibrate, output};
use fathomp_analysis::Analysis;
use fathomp_predict::prices::Cluster as Prices;
use fathomp_runtime::Unpacked;
use fathomp_types::units::duration;

/// The compiler of the program that measures the hosts.
const COMPILER: &str = "gcc";

/// What nodes cost on the hosts. Without that, nothing is predicted, but the study goes on.
pub(crate) fn measure(
    study: &mut Study,
    plan: &Plan,
    unpacked: &Unpacked,
    across: &Across,
) -> Result<Option<Prices>, Failure> {
    let cluster = Cluster {
        nodes: across.nodes(),
        dsm: plan.dsm,
        ..Cluster::ONE
    };
    // A network takes two hosts.
    if across.count() < 2 {
        return Ok(None);
    }
    match calibrate::cluster(unpacked, cluster, Some(across), COMPILER, |_| {}) {
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
pub(crate) fn scaling(teams: &[Team], analyses: &[Analysis]) -> Vec<String> {
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
