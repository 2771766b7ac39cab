//! Counts from recordings of runs on several nodes.

use super::counts::{Counted, Counts, Program, Protocol, Row, Run, Scope};
use crate::runs::threads_of;
use fathomp_analyse::{Analysis, Dsm};
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
}

impl Counted {
    /// The counts of recordings made on several nodes with a home-based
    /// protocol, by program. T(1) is `sequential_ns` or else the time of the
    /// program's recording with one thread, the shortest if there are several.
    ///
    /// # Errors
    /// If there are no counts, or T(1) is not known.
    pub fn from_analyses(
        analyses: &[&Analysis],
        sequential_ns: Option<f64>,
    ) -> Result<Self, RecordingsError> {
        let mut programs: Vec<Program> = Vec::new();
        for analysis in analyses {
            let rows = rows(analysis);
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
        if programs.is_empty() {
            return Err(RecordingsError::NoCounts);
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
        Ok(Self {
            protocol: Protocol::Home,
            programs,
        })
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
fn rows(analysis: &Analysis) -> Vec<Row> {
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
                counts: counts(dsm),
            });
        }
    }
    rows
}

fn counts(dsm: &Dsm) -> Counts {
    Counts::home(
        dsm.write_faults_local as f64,
        dsm.write_faults_remote as f64,
        dsm.fetch_faults as f64,
        dsm.diffs_sent as f64,
    )
}
