//! From facts and predictions to one offline page, to text, and to the formats
//! other tools read.
//!
//! * [`page`]: one HTML page that needs nothing but a browser.
//! * [`bench_page`]: likewise for results of benchmarks.
//! * [`share`]: programs that shared one machine; [`runtimes`]: one program on several runtimes;
//!   [`compare`]: one program before and after a change.
//! * [`text`]: tables for a terminal.
//! * [`export`]: Perfetto/Chrome trace JSON, OTF2, Paraver, CSV and JSON.
//!
//! Everything here is a function from plain data to text. Names of regions come
//! out of other people's binaries and are never trusted: the page escapes them
//! and forbids foreign scripts, the terminal never sees their control
//! characters.
#![forbid(unsafe_code)]

mod chart;
pub mod compare;
pub mod export;
mod html;
mod ranges;
pub mod runtimes;
pub mod section;
pub mod share;
pub mod side_by_side;
pub mod text;
mod view;

pub use html::{PageError, bench_page, comparison_page, evaluation_page, page, runtimes_page};

use fathomp_advise::Advice;
use fathomp_analysis::samples::Samples;
use fathomp_analysis::{Analysis, Ranks};
use fathomp_diagnosis::{Diagnosis, Soundness, Verdict};
use fathomp_predict::Prediction;
use fathomp_predict::machine::Machine;
use fathomp_predict::ranks::Split;
use fathomp_predict::validate::Validated;
use fathomp_regions::Regions;
use fathomp_shared_lines::Findings;
use fathomp_types::units;
use section::Section;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a report is made of; every part may be missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input<'a> {
    /// Analyses of recordings of one program, in any order. The one with the
    /// largest team that had a processor for each thread (of equals, the
    /// shortest) is shown in detail.
    pub analyses: &'a [Analysis],
    /// All ranks of a program of MPI, and the number of the one whose recording is analysed.
    pub ranks: Option<(&'a Ranks, u32)>,
    /// Times with other numbers of ranks and threads.
    pub splits: &'a [Split],
    /// What is predicted from them.
    pub prediction: Option<&'a Prediction>,
    /// What the published models say of those on nodes.
    pub nodes: Option<&'a Validated>,
    /// What things cost on the machine.
    pub machine: Option<&'a Machine>,
    /// Which cache lines threads share, if that was looked for.
    pub sharing: Option<&'a Findings>,
    /// Where threads were, if that was looked at.
    pub samples: Option<&'a Samples>,
    /// What its regions contain, if it was scanned.
    pub regions: Option<&'a Regions>,
    /// How many threads each region deserves, if that was asked.
    pub advice: Option<&'a Advice>,
    /// What wings bring, in the order shown.
    pub sections: &'a [&'a dyn Section],
    /// Texts of source files that regions name, by the names that
    /// [`fathomp_analysis::Lines`] gives them; none if nobody looked for them.
    pub sources: Option<&'a BTreeMap<String, Source>>,
    /// Sentences to add to what makes the report doubtful, such as a run of
    /// the study that failed.
    pub notes: &'a [String],
}

/// A source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// What is in it.
    pub text: String,
    /// It was written after the program was built, or after it ran.
    pub newer: bool,
}

impl<'a> Input<'a> {
    /// The recording shown in detail.
    #[must_use]
    pub fn main(&self) -> Option<&'a Analysis> {
        self.analyses.iter().max_by_key(|one| {
            (
                !one.program.rehearsal,
                !crowded(one),
                one.team_size,
                one.taken().is_none(),
                Reverse(one.wall_ns),
            )
        })
    }

    /// The recordings whose times say something: all but rehearsals.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &'a Analysis> {
        self.analyses.iter().filter(|one| !one.program.rehearsal)
    }

    /// Why the program does not run faster, if `soundness` of its recordings admits that
    /// anything is concluded from them.
    #[must_use]
    pub fn conclude(&self, soundness: Soundness) -> Verdict {
        let advised = self.advice.map_or(&[][..], |advice| &advice.regions);
        let asks: Vec<(&str, f64)> = advised
            .iter()
            .filter_map(|region| Some((region.name.as_str(), region.asks_bytes_per_s?)))
            .collect();
        let main = self.main().filter(|_| soundness.broken.is_none());
        let diagnosis = main.map_or_else(Diagnosis::default, |main| {
            fathomp_diagnosis::diagnose(&fathomp_diagnosis::Input {
                analyses: self.analyses,
                main,
                prediction: self.prediction,
                machine: self.machine,
                sharing: self.sharing,
                samples: self.samples,
                asks: &asks,
            })
        });
        Verdict {
            soundness,
            diagnosis,
        }
    }

    /// What to call the program.
    #[must_use]
    pub fn program(&self) -> &'a str {
        let analysed = self.main().map(|one| one.program.name.as_str());
        let predicted = self.prediction.map(|one| one.program.as_str());
        let brought = self.sections.iter().map(|one| one.program());
        analysed
            .into_iter()
            .chain(predicted)
            .chain(brought)
            .find(|name| !name.is_empty())
            .unwrap_or("program")
    }
}

/// More threads than processors: such a run says little about scaling.
fn crowded(analysis: &Analysis) -> bool {
    analysis.program.crowded(analysis.team_size).is_some()
}
