//! From documents to numbers worth reading: per case, team size and column a
//! value with its interval, and how columns compare.

mod caches;
mod compare;
mod estimate;
mod figures;
mod quantity;

pub use caches::{Plateau, plateaus};
pub use compare::{LIMIT, Ratio, Verdict};
pub use estimate::Estimate;
pub use figures::{Figure, Series, figures};
pub use quantity::{Quantity, size};

use crate::result::{Column, Document};
use crate::settings::{Affinity, WaitPolicy};
use crate::suite::{Case, Process, Row, SuiteName};
use compare::Compared;
use estimate::Evidence;
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything a set of documents says.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Where the numbers come from.
    pub sources: Vec<Source>,
    /// What is compared.
    pub columns: Vec<ColumnFacts>,
    /// The column that the others are compared with, if any.
    pub subject: Option<usize>,
    /// The numbers, in the order of tables.
    pub points: Vec<Point>,
    /// How the subject stands, per suite and team size.
    pub verdicts: Vec<Verdict>,
    /// Effective sizes of caches.
    pub caches: Vec<CacheFinding>,
    /// What was not measured, as sentences.
    pub skipped: Vec<String>,
    /// What makes the numbers doubtful, as sentences.
    pub warnings: Vec<String>,
}

/// A document without its samples.
#[derive(Debug, Clone, Serialize)]
pub struct Source {
    /// The document's name.
    pub id: String,
    /// What was measured.
    pub suite: SuiteName,
    /// Where.
    pub machine: crate::machine::Machine,
    /// What the clocks are worth.
    pub clocks: crate::result::Clocks,
    /// How it was measured.
    pub settings: crate::settings::Settings,
    /// When.
    pub began_unix_ns: u64,
    /// How long.
    pub took_ns: u64,
}

/// A compiler's program under a runtime, on a machine, in an environment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnFacts {
    /// What to call it: as short as the other columns allow.
    pub name: String,
    /// Compiler and runtime.
    #[serde(flatten)]
    pub column: Column,
    /// Name and processor of the machine.
    pub host: String,
    /// See `host`.
    pub processor: String,
    /// Processors the programs could use.
    pub processors: usize,
    /// `OMP_PROC_BIND`.
    pub affinity: Affinity,
    /// `OMP_WAIT_POLICY`.
    pub wait_policy: WaitPolicy,
    /// Clock cycles in a nanosecond, and of which clock.
    pub cycles_per_ns: Option<f64>,
    /// See `cycles_per_ns`.
    pub cycles_of: Option<&'static str>,
}

impl ColumnFacts {
    fn of(document: &Document, column: &Column) -> Self {
        let cycles = document.clocks.cycles_per_ns();
        Self {
            name: column.name(),
            column: column.clone(),
            host: document.machine.host.clone(),
            processor: document.machine.processor.clone(),
            processors: document.machine.processors,
            affinity: document.settings.affinity,
            wait_policy: document.settings.wait_policy,
            cycles_per_ns: cycles.map(|(rate, _)| rate),
            cycles_of: cycles.map(|(_, clock)| clock),
        }
    }

    /// Two documents' columns that are the same thing measured again. The
    /// clock's rate is measured too and never the same twice.
    fn is_same(&self, other: &Self) -> bool {
        self.column == other.column
            && (&self.host, &self.processor, self.processors)
                == (&other.host, &other.processor, other.processors)
            && (self.affinity, self.wait_policy) == (other.affinity, other.wait_policy)
    }
}

/// One case with one team size.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// What it belongs to.
    pub suite: SuiteName,
    /// See `suite`.
    pub group: String,
    /// The row's name without its parameters.
    pub stem: String,
    /// The whole case.
    #[serde(flatten)]
    pub case: Case,
    /// Names and units of the parameters, as many as values.
    pub parameters: Vec<(String, String)>,
    /// Size of the team.
    pub threads: u32,
    /// What the values are.
    pub quantity: Quantity,
    /// One per column of the summary; absent where nothing was tried.
    pub entries: Vec<Option<Entry>>,
    /// The subject over each other column, and over the best of them.
    pub ratios: Vec<Ratio>,
}

impl Point {
    /// What the row calls this case.
    #[must_use]
    pub fn name(&self) -> String {
        let values = self.case.values.iter().map(|value| format!(" {value}"));
        format!("{}{}", self.stem, values.collect::<String>())
    }

    /// The subject over the best of the others.
    #[must_use]
    pub fn against_best(&self) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.best)
    }

    /// The estimate of a column, if there is one.
    #[must_use]
    pub fn estimate(&self, column: usize) -> Option<&Estimate> {
        self.entries.get(column)?.as_ref()?.estimate.as_ref()
    }
}

/// One case with one team size in one column.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// The value, if there are samples.
    pub estimate: Option<Estimate>,
    /// Why there are none, or what was wrong beside them.
    pub failure: Option<String>,
}

/// What the latencies over the working set say about caches.
#[derive(Debug, Clone, Serialize)]
pub struct CacheFinding {
    /// The column that measured it.
    pub column: usize,
    /// The row that measured it.
    pub row: String,
    /// Levels, fastest first; the last is memory if the sweep reached it.
    pub plateaus: Vec<Plateau>,
}

/// What is known about a point while documents are read.
struct Gathered<'a> {
    suite: SuiteName,
    row: &'a Row,
    case: &'a Case,
    threads: u32,
    /// Per column.
    processes: Vec<Vec<&'a Process>>,
    failures: Vec<Option<String>>,
    tried: Vec<bool>,
}

/// Summarises documents. `subject` names the column (or the runtime of the
/// column) to compare with the others; without it, the first column of
/// fathomp's own runtime is meant.
#[must_use]
pub fn summarise(documents: &[Document], subject: Option<&str>) -> Summary {
    let (mut columns, places) = columns(documents);
    let subject = chosen(&columns, subject);
    let gathered = gather(documents, &places, columns.len());
    let mut points = Vec::with_capacity(gathered.len());
    let mut compared = Vec::new();
    for (index, one) in gathered.iter().enumerate() {
        let evidence: Vec<Option<Evidence>> = one
            .processes
            .iter()
            .enumerate()
            .map(|(column, processes)| {
                let seed = (index * columns.len() + column) as u64;
                Evidence::gather(one.row, one.case, one.threads, processes, seed)
            })
            .collect();
        let found = Compared::new(&evidence, subject, &columns);
        points.push(one.point(&evidence, found.as_ref()));
        compared.push(found);
    }
    let verdicts = compare::verdicts(&points, &compared, subject, &columns);
    shorten(&mut columns);
    Summary {
        sources: documents.iter().map(Source::of).collect(),
        caches: cache_findings(&points, columns.len()),
        columns,
        subject,
        points,
        verdicts,
        skipped: sentences(documents, |one| {
            one.skipped
                .iter()
                .map(crate::result::Skipped::sentence)
                .collect()
        }),
        warnings: sentences(documents, |one| one.warnings.clone()),
    }
}

impl Source {
    fn of(document: &Document) -> Self {
        Self {
            id: document.id.clone(),
            suite: document.suite,
            machine: document.machine.clone(),
            clocks: document.clocks,
            settings: document.settings.clone(),
            began_unix_ns: document.began_unix_ns,
            took_ns: document.took_ns,
        }
    }
}

/// All columns, and where each document's columns are among them.
fn columns(documents: &[Document]) -> (Vec<ColumnFacts>, Vec<Vec<usize>>) {
    let mut columns: Vec<ColumnFacts> = Vec::new();
    let mut places = Vec::new();
    for document in documents {
        let mut place = Vec::new();
        for column in &document.columns {
            let facts = ColumnFacts::of(document, column);
            let at = columns.iter().position(|known| known.is_same(&facts));
            place.push(at.unwrap_or(columns.len()));
            if at.is_none() {
                columns.push(facts);
            }
        }
        places.push(place);
    }
    (columns, places)
}

fn chosen(columns: &[ColumnFacts], subject: Option<&str>) -> Option<usize> {
    let named = |name: &str| {
        columns
            .iter()
            .position(|one| one.column.name() == name)
            .or_else(|| columns.iter().position(|one| one.column.runtime == name))
    };
    (columns.len() > 1).then(|| named(subject.unwrap_or("fathomp")))?
}

/// Adds to each name what tells it apart from the others.
fn shorten(columns: &mut [ColumnFacts]) {
    type Tell = fn(&ColumnFacts) -> String;
    const TELLS: [Tell; 5] = [
        |one| one.host.clone(),
        |one| format!("{} × {}", one.processors, one.processor),
        |one| format!("{} waiting", one.wait_policy.name()),
        |one| format!("affinity {}", one.affinity.name()),
        |one| {
            format!(
                "{} {}",
                one.column.compiler_version,
                one.column.library.as_deref().unwrap_or("")
            )
        },
    ];
    for tell in TELLS {
        let said: Vec<String> = columns.iter().map(tell).collect();
        let names: Vec<String> = columns.iter().map(|one| one.name.clone()).collect();
        for (index, one) in columns.iter_mut().enumerate() {
            let ambiguous = (0..names.len())
                .any(|other| names[other] == names[index] && said[other] != said[index]);
            if ambiguous {
                one.name = format!("{}, {}", one.name, said[index].trim());
            }
        }
    }
}

/// The processes of every point, in the order of the first document that has
/// the row.
fn gather<'a>(documents: &'a [Document], places: &[Vec<usize>], width: usize) -> Vec<Gathered<'a>> {
    let mut order: BTreeMap<(SuiteName, &str), usize> = BTreeMap::new();
    for document in documents {
        for row in &document.rows {
            let next = order.len();
            order.entry((document.suite, &row.row)).or_insert(next);
        }
    }
    let mut found: BTreeMap<(SuiteName, usize, &[u64], u32), Gathered<'a>> = BTreeMap::new();
    for (document, place) in documents.iter().zip(places) {
        for cell in &document.cells {
            let (Some(row), Some(at)) = (document.row(&cell.case.row), place.get(cell.column))
            else {
                continue;
            };
            let rank = order
                .get(&(document.suite, row.row.as_str()))
                .copied()
                .unwrap_or(0);
            let key = (
                document.suite,
                rank,
                cell.case.values.as_slice(),
                cell.threads,
            );
            let one = found.entry(key).or_insert_with(|| Gathered {
                suite: document.suite,
                row,
                case: &cell.case,
                threads: cell.threads,
                processes: vec![Vec::new(); width],
                failures: vec![None; width],
                tried: vec![false; width],
            });
            one.processes[*at].extend(&cell.processes);
            one.tried[*at] = true;
            if one.failures[*at].is_none() {
                one.failures[*at].clone_from(&cell.failure);
            }
        }
    }
    found.into_values().collect()
}

impl Gathered<'_> {
    fn point(&self, evidence: &[Option<Evidence>], compared: Option<&Compared>) -> Point {
        let quantity = evidence
            .iter()
            .flatten()
            .map(|one| one.quantity)
            .next()
            .unwrap_or(Quantity::OverheadNs);
        let entry = |index: usize| {
            self.tried[index].then(|| Entry {
                estimate: evidence[index].as_ref().map(|one| one.estimate.clone()),
                failure: self.failures[index].clone(),
            })
        };
        Point {
            suite: self.suite,
            group: self.row.group.clone(),
            stem: self.row.stem(),
            case: self.case.clone(),
            parameters: self
                .row
                .parameters
                .iter()
                .map(|one| (one.name.clone(), one.unit.clone()))
                .collect(),
            threads: self.threads,
            quantity,
            entries: (0..self.tried.len()).map(entry).collect(),
            ratios: compared.map(|one| one.ratios.clone()).unwrap_or_default(),
        }
    }
}

/// Each sentence once; with several documents, those of one begin with its
/// suite.
fn sentences(documents: &[Document], of: impl Fn(&Document) -> Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for document in documents {
        for sentence in of(document) {
            let sentence = if documents.len() > 1 {
                format!("{} ({}): {sentence}", document.suite.name(), document.id)
            } else {
                sentence
            };
            if !all.contains(&sentence) {
                all.push(sentence);
            }
        }
    }
    all
}

/// Caches, from rows that time single accesses over a working set.
fn cache_findings(points: &[Point], columns: usize) -> Vec<CacheFinding> {
    let mut curves: BTreeMap<(usize, &str), Vec<(u64, f64)>> = BTreeMap::new();
    for point in points {
        let in_bytes = point.parameters.len() == 1 && point.parameters[0].1 == "bytes";
        if point.group != "latency" || point.threads != 1 || !in_bytes {
            continue;
        }
        for column in 0..columns {
            if let Some(estimate) = point.estimate(column) {
                let curve = curves.entry((column, &point.case.row)).or_default();
                curve.push((point.case.values[0], estimate.value));
            }
        }
    }
    curves
        .into_iter()
        .map(|((column, row), curve)| CacheFinding {
            column,
            row: row.to_owned(),
            plateaus: plateaus(&curve),
        })
        .filter(|finding| !finding.plateaus.is_empty())
        .collect()
}
