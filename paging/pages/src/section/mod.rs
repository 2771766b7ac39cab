//! Paging: what follows from a recording, and its pictures.
//!
//! What a picture shows comes first as sentences. Pictures are drawn by the page's
//! script from [`data::PagingData`]; what they say is also in tables.

pub(crate) mod choice;
pub(crate) mod data;
pub(crate) mod faults;
mod memory;
pub(crate) mod near;
mod tables;
mod trust;
pub(crate) mod words;
mod zeros;

pub use choice::tasks as tasks_shown;

use crate::facts::PagingFacts;
use data::PagingData;
use fathomp_paging::State;
use fathomp_report::section::{self, Built, LegendEntry, Section, Table, bound};
use fathomp_skyline::{Fact, Finding};
use fathomp_types::text::shorten;
use fathomp_types::units::{self, duration};
use serde::Serialize;
use words::class;

/// Letters of a sentence, which may quote names.
const SENTENCE_CHARS: usize = 600;
/// Findings in the summary at the top.
const SUMMARY_MAX: usize = 4;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Paging {
    note: String,
    /// Sentences that belong to no picture.
    sentences: Vec<Statement>,
    legend: Vec<LegendEntry>,
    /// About states over time, and their picture.
    lanes: Option<Picture>,
    /// About counters, and all tasks together over time.
    profile: Option<Picture>,
    /// The three panels of one record.
    panels: Option<Picture>,
    /// How tasks relate, and their matrices.
    relations: Option<Picture>,
    tasks: Option<Table>,
    peaks: Option<Table>,
    periods: Option<Table>,
    points: Option<Table>,
    servers: Option<Table>,
    loads: Option<Table>,
    faults: Option<faults::Faults>,
    memory: Option<memory::Memory>,
    intrusion: Option<memory::Intrusion>,
}

/// A picture that the script draws.
#[derive(Debug, Serialize)]
pub(crate) struct Picture {
    title: String,
    /// What follows from it.
    sentences: Vec<Statement>,
    /// For those who cannot see it.
    label: String,
    caption: String,
}

/// A statement and what it rests on.
#[derive(Debug, Serialize)]
pub(crate) struct Statement {
    sentence: String,
    evidence: String,
}

impl Section for PagingFacts {
    fn id(&self) -> &'static str {
        "paging"
    }

    fn title(&self) -> &'static str {
        "Paging"
    }

    fn program(&self) -> &str {
        &self.program
    }

    fn summary(&self) -> Vec<String> {
        summary(self)
    }

    fn trust(&self) -> (Vec<String>, Vec<section::Fact>) {
        trust::judge(self)
    }

    fn environment(&self) -> Vec<section::Fact> {
        trust::environment(self)
    }

    fn template(&self) -> &'static str {
        include_str!("../assets/paging.html")
    }

    fn script(&self) -> &'static str {
        include_str!("../assets/paging.js")
    }

    fn build(&self) -> Built {
        let (content, drawn) = build(self);
        Built::new(&content, &drawn)
    }

    fn json(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::to_value(&self.analysis)
    }
}

/// The section and what its script draws.
fn build(paging: &PagingFacts) -> (Paging, PagingData) {
    let data = data::build(paging);
    let mut sorted = Sorted::default();
    for finding in &paging.analysis.findings {
        sorted.put(finding);
    }
    let section = Paging {
        note: note(paging),
        lanes: data
            .has_lanes()
            .then(|| lanes(paging, &data, sorted.states)),
        profile: data
            .has_counters()
            .then(|| profile(paging, sorted.counters)),
        panels: data.has_counters().then(panels),
        relations: data.has_relations().then(|| relations(sorted.relations)),
        sentences: sorted.others,
        legend: legend(paging),
        tasks: tables::tasks(paging),
        peaks: tables::peaks(paging),
        periods: tables::periods(paging),
        points: tables::points(paging),
        servers: tables::servers(paging),
        loads: tables::loads(paging),
        faults: faults::build(paging),
        memory: paging.memory.as_ref().map(memory::build),
        intrusion: memory::intrusion(paging.intrusion.as_ref()),
    };
    (section.without_lost_sentences(paging), data)
}

impl Paging {
    /// Sentences whose picture is not there are said at the top.
    fn without_lost_sentences(mut self, paging: &PagingFacts) -> Self {
        let mut there: Vec<&str> = self.sentences.iter().map(|one| &*one.sentence).collect();
        for picture in [&self.lanes, &self.profile, &self.relations]
            .into_iter()
            .flatten()
        {
            there.extend(picture.sentences.iter().map(|one| &*one.sentence));
        }
        let lost: Vec<Statement> = paging
            .analysis
            .findings
            .iter()
            .map(said)
            .filter(|one| !there.contains(&&*one.sentence))
            .collect();
        self.sentences.extend(lost);
        self
    }
}

/// Findings by the picture that they are of.
#[derive(Debug, Default)]
struct Sorted {
    states: Vec<Statement>,
    counters: Vec<Statement>,
    relations: Vec<Statement>,
    others: Vec<Statement>,
}

impl Sorted {
    fn put(&mut self, finding: &Finding) {
        let list = match finding.fact {
            Fact::Suspended { .. } => &mut self.states,
            Fact::Early { .. }
            | Fact::Flat { .. }
            | Fact::Periodic { .. }
            | Fact::ActivityDominates { .. }
            | Fact::TooFew { .. }
            | Fact::TimesUnknown { .. }
            | Fact::ManyPeaks { .. }
            | Fact::PublishedSumMisses { .. } => &mut self.counters,
            Fact::PeaksBesideEachOther { .. }
            | Fact::TasksAlike { .. }
            | Fact::TaskUnlike { .. }
            | Fact::TaskAmount { .. }
            | Fact::Synchronised { .. } => &mut self.relations,
            Fact::PeakLoad { .. } => &mut self.others,
        };
        list.push(said(finding));
    }
}

fn said(finding: &Finding) -> Statement {
    let short = |text: &str| bound(&shorten(text, SENTENCE_CHARS));
    Statement {
        sentence: short(&finding.sentence),
        evidence: short(&finding.evidence),
    }
}

/// The first sentences, for the summary of the page.
fn summary(paging: &PagingFacts) -> Vec<String> {
    let findings = paging.analysis.findings.iter().take(SUMMARY_MAX);
    findings.map(|finding| said(finding).sentence).collect()
}

fn note(paging: &PagingFacts) -> String {
    let analysis = &paging.analysis;
    let window = &analysis.window;
    let tasks = units::plural(choice::alive(paging) as u64, "task");
    let part = if window.is_whole {
        String::new()
    } else {
        format!(", the part from {} on", duration(window.from_ns as f64))
    };
    bound(&format!(
        "{tasks} over {}{part}; times and rates are of {} of {}. A task is in one state at any time; counts are of what the kernel and the shared memory counted meanwhile.",
        duration(window.ns() as f64),
        units::plural(window.bins as u64, "bin"),
        duration(window.bin_ns as f64)
    ))
}

fn legend(paging: &PagingFacts) -> Vec<LegendEntry> {
    let tasks = &paging.analysis.tasks;
    State::ALL
        .into_iter()
        .filter(|state| tasks.iter().any(|task| task.states_ns[state.index()] > 0))
        .map(|state| LegendEntry {
            class: class(state),
            name: words::state(state),
        })
        .collect()
}

fn lanes(paging: &PagingFacts, data: &PagingData, sentences: Vec<Statement>) -> Picture {
    let shown = data.lanes_shown();
    let all = choice::alive(paging);
    let tasks = units::plural(shown as u64, "task");
    let length = duration(paging.analysis.window.ns() as f64);
    let some = if shown < all {
        format!(", which stand for all {}", units::count(all as u64))
    } else {
        String::new()
    };
    Picture {
        title: "States of tasks over time".to_owned(),
        sentences,
        label: format!("States of {tasks} over {length}, with the rate of a counter"),
        caption: format!(
            "{tasks}{some}. Colours are states, by their share where they change faster than can be drawn; the curve is the rate of the counter that is chosen, each task's on a scale of its own. Upright lines are barriers."
        ),
    }
}

fn profile(paging: &PagingFacts, sentences: Vec<Statement>) -> Picture {
    let tasks = units::plural(choice::alive(paging) as u64, "task");
    Picture {
        title: "All tasks together".to_owned(),
        sentences,
        label: format!(
            "Cumulative profile: rate of a counter over time, summed over {tasks}, by state"
        ),
        caption: format!(
            "Cumulative profile: the exact sum over {tasks}, stacked by the state in which it was counted. A dot marks a peak that is kept."
        ),
    }
}

fn panels() -> Picture {
    Picture {
        title: "One record: counter, rate, skyline".to_owned(),
        sentences: Vec::new(),
        label: "Cumulative counter, its rate, and the filtered record of one task".to_owned(),
        caption: "As the published figures have it: the counter as it rose, its rate, and the skyline, which keeps the highest peaks and levels the rest to a background of the same area.".to_owned(),
    }
}

fn relations(sentences: Vec<Statement>) -> Picture {
    Picture {
        title: "How alike tasks are".to_owned(),
        sentences,
        label: "Similarity of every pair of tasks, beside what chance gives".to_owned(),
        caption: "Left what was found, right what 95 of 100 randomly shifted records stay below; what is no darker on the left than on the right is chance. Tasks that are alike stand together.".to_owned(),
    }
}
