//! Counts from recordings of runs on several nodes.

use super::counted::{Counted, Program, Row, Run, Scope};
use crate::prices::{Counts, Protocol};
use crate::recorded::threads_of;
use fathomp_analysis::{Analysis, Dsm};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why recordings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordingsError {
    /// None was made on several nodes.
    #[error(
        "no recording holds counts of page faults: make one with `fathomp record --nodes N`, best with --dsm-plain"
    )]
    NoCounts,
    /// Nothing says how long the program takes by itself.
    #[error(
        "nothing says how long {program} takes with 1 thread: give a recording with 1 thread too, or --sequential SECONDS"
    )]
    Sequential {
        /// Which program.
        program: String,
    },
    /// Two runs that should agree.
    #[error("there are two recordings of {program} with {threads} threads on nodes: give one")]
    Twice {
        /// Which program.
        program: String,
        /// Threads.
        threads: u32,
    },
    /// Counts that mean different things.
    #[error(
        "some of these recordings were made with a home-based protocol and some with a homeless one: give those of one"
    )]
    Protocols,
}

/// The protocol of recordings made on several nodes.
///
/// # Errors
/// If there are none, or of both protocols.
fn protocol_of(analyses: &[&Analysis]) -> Result<Protocol, RecordingsError> {
    let counted = |one: &&&Analysis| {
        let mut shares = one.regions.iter().flat_map(|region| &region.threads);
        shares.any(|share| share.dsm.is_some())
    };
    let on_nodes = analyses.iter().filter(counted);
    let protocol = |one: &Analysis| {
        let sharing = one.program.sharing;
        sharing.map_or_else(Protocol::default, |sharing| sharing.protocol)
    };
    let mut protocols = on_nodes.copied().map(protocol);
    let first = protocols.next().ok_or(RecordingsError::NoCounts)?;
    if protocols.any(|protocol| protocol != first) {
        return Err(RecordingsError::Protocols);
    }
    Ok(first)
}

impl Counted {
    /// The counts of recordings made on several nodes, by program. T(1) is `sequential_ns` or else the time of the
    /// program's recording with one thread, the shortest if there are several.
    ///
    /// # Errors
    /// If there are no counts, or T(1) is not known.
    pub fn from_analyses(
        analyses: &[&Analysis],
        sequential_ns: Option<f64>,
    ) -> Result<Self, RecordingsError> {
        let protocol = protocol_of(analyses)?;
        let mut programs: Vec<Program> = Vec::new();
        for analysis in analyses {
            let rows = rows(analysis, protocol);
            if rows.is_empty() {
                continue;
            }
            let name = &analysis.program.name;
            let sequential_ns = sequential_ns
                .or_else(|| alone_ns(analyses, name))
                .ok_or_else(|| RecordingsError::Sequential {
                    program: name.clone(),
                })?;
            let run = Run {
                threads: threads_of(analysis),
                sequential_ns,
                rows,
                speedup_observed: None,
            };
            match programs.iter_mut().find(|program| program.name == *name) {
                Some(program) => program.runs.push(run),
                None => programs.push(Program {
                    name: name.clone(),
                    runs: vec![run],
                }),
            }
        }
        for program in &mut programs {
            program.runs.sort_by_key(|run| run.threads);
            let mut pairs = program.runs.windows(2);
            if let Some(pair) = pairs.find(|pair| pair[0].threads == pair[1].threads) {
                return Err(RecordingsError::Twice {
                    program: program.name.clone(),
                    threads: pair[0].threads,
                });
            }
        }
        Ok(Self { protocol, programs })
    }
}

/// Shortest time with one thread.
fn alone_ns(analyses: &[&Analysis], program: &str) -> Option<f64> {
    analyses
        .iter()
        .filter(|one| one.program.name == program && threads_of(one) == 1 && one.wall_ns > 0)
        .map(|one| one.wall_ns as f64)
        .min_by(f64::total_cmp)
}

/// A row for each region and thread; none if there was one node.
fn rows(analysis: &Analysis, protocol: Protocol) -> Vec<Row> {
    let mut numbers: BTreeMap<(usize, u32), u32> = BTreeMap::new();
    let mut rows = Vec::new();
    for region in &analysis.regions {
        for share in &region.threads {
            let Some(dsm) = &share.dsm else { continue };
            let next = numbers.len() as u32;
            let number = *numbers.entry((share.process, share.thread)).or_insert(next);
            rows.push(Row {
                region: region.name.clone(),
                scope: Scope::Thread(number),
                counts: counts(dsm, protocol),
            });
        }
    }
    rows
}

/// What a protocol counts. Without homes, every write fault makes a twin but those at
/// pages that nobody else has had yet.
fn counts(dsm: &Dsm, protocol: Protocol) -> Counts {
    let [local, remote, fetches, diffs] = [
        dsm.write_faults_local,
        dsm.write_faults_remote,
        dsm.fetch_faults,
        dsm.diffs_sent,
    ]
    .map(|count| count as f64);
    match protocol {
        Protocol::Home => Counts::home(local, remote, fetches, diffs),
        Protocol::Homeless => Counts::homeless(local + remote, fetches),
    }
}
