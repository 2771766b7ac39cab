//! From documents to numbers worth reading: per case, team size and column a
//! value with its interval, and how columns compare.

pub mod between;
mod caches;
mod compare;
mod estimate;
mod families;
mod figures;
mod laws;
mod pictures;
mod quantity;
mod teams;

pub use caches::{Plateau, plateaus};
pub use compare::{LIMIT, Ratio, Verdict};
pub use estimate::Estimate;
pub use figures::{Figure, Series};
pub use laws::{CoherenceUnit, Fit, Law, LawFinding, fits};
pub use pictures::figures;
pub use quantity::{Quantity, size};
pub use teams::{OverTeams, Value};

use crate::epcc::{self, EpccRow};
use crate::misses::CacheShape;
use crate::result::{Column, Document};
use crate::settings::{Affinity, WaitPolicy};
use crate::suite::{Case, Process, Row, SuiteName};
use compare::Compared;
use estimate::Evidence;
use serde::Serialize;
use std::collections::BTreeMap;

/// The array of the papers on costs of consistency, in bytes.
const ARRAY: u64 = 4 << 20;

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
    /// How costs of consistency grow with the number of threads.
    pub laws: Vec<LawFinding>,
    /// The units in which memory is kept consistent.
    pub units: Vec<CoherenceUnit>,
    /// Directives in EPCC's form, ours and those of other programs' outputs.
    pub epcc: Vec<EpccRow>,
    /// Files of other programs' output among these, of whose machines only this is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherSource>,
    /// What was not measured, as sentences.
    pub skipped: Vec<String>,
    /// What makes the numbers doubtful, as sentences.
    pub warnings: Vec<String>,
}

/// Output of another program, of which nobody saw how it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherSource {
    /// The file's name.
    pub name: String,
    /// What the user says of where it was measured: names and values.
    pub facts: Vec<(String, String)>,
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
    /// Times are calculated, not measured.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// The largest cache that a processor has for itself, if that is known.
    pub cache: Option<CacheShape>,
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
            simulated: document.machine.simulated,
            cache: document.machine.cache,
        }
    }

    /// Whether each of so many threads has a processor.
    #[must_use]
    pub fn has_room(&self, threads: u32) -> bool {
        threads as usize <= self.processors
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
    /// A parameter's value in this case.
    pub(crate) fn value_of(&self, name: &str) -> Option<u64> {
        let at = self
            .parameters
            .iter()
            .position(|(known, _)| known == name)?;
        self.case.values.get(at).copied()
    }

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
    let mut summary = Summary {
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
        laws: Vec::new(),
        units: Vec::new(),
        epcc: epcc::rows(documents),
        others: Vec::new(),
    };
    summary.find_laws();
    summary
}

impl Summary {
    /// The size of the array that a column's costs of consistency are shown for: that of the
    /// papers, or the largest that was measured.
    pub(crate) fn array_shown(&self, column: usize) -> Option<u64> {
        let arrays = || {
            self.consistency(column)
                .filter_map(|point| point.value_of("array"))
        };
        arrays()
            .find(|array| *array == ARRAY)
            .or_else(|| arrays().max())
    }

    /// What of there are several in these columns: on nodes, each has a thread.
    #[must_use]
    pub fn members(&self, columns: &[usize]) -> &'static str {
        let on_nodes = |column: &usize| self.columns[*column].column.protocol.is_some();
        match columns.iter().filter(|column| on_nodes(column)).count() {
            0 => "threads",
            some if some == columns.len() => "nodes",
            _ => "threads or nodes",
        }
    }

    /// How large a team is in these columns, in words.
    #[must_use]
    pub fn team(&self, threads: u32, columns: &[usize]) -> String {
        match (threads, self.members(columns)) {
            (1, "threads") => "1 thread".to_owned(),
            (1, "nodes") => "1 node".to_owned(),
            (1, _) => "1 thread or node".to_owned(),
            (_, members) => format!("{threads} {members}"),
        }
    }

    fn consistency(&self, column: usize) -> impl Iterator<Item = &Point> {
        let points = self
            .points
            .iter()
            .filter(|point| point.group == "consistency");
        points.filter(move |point| point.estimate(column).is_some())
    }

    /// What each column's costs of consistency follow, and its unit of coherence.
    fn find_laws(&mut self) {
        let (mut laws, mut units) = (Vec::new(), Vec::new());
        for column in 0..self.columns.len() {
            let array = self.array_shown(column);
            let points: Vec<&Point> = self
                .consistency(column)
                .filter(|point| point.value_of("array") == array)
                .collect();
            laws.extend(self.laws_of(&points, column));
            units.extend(self.unit_of(&points, column));
        }
        (self.laws, self.units) = (laws, units);
    }

    fn laws_of(&self, points: &[&Point], column: usize) -> Vec<LawFinding> {
        let mut chunks: Vec<Option<u64>> = points.iter().map(|p| p.value_of("chunk")).collect();
        // Blocked last, as the largest.
        chunks.sort_by_key(|chunk| chunk.unwrap_or(u64::MAX));
        chunks.dedup();
        let protocol = self.columns[column].column.protocol.as_deref();
        let finding = |chunk: Option<u64>| {
            let same = points
                .iter()
                .filter(|point| point.value_of("chunk") == chunk);
            let curve: Vec<(f64, f64, f64)> = same
                .filter_map(|point| {
                    let estimate = point.estimate(column)?;
                    // What cannot be told from nothing follows no law.
                    let interval = &estimate.interval;
                    let seen = interval.low > 0.0 && estimate.value > 0.0;
                    let noise = || (interval.high / interval.low).ln() / 2.0;
                    seen.then(|| (f64::from(point.threads), estimate.value, noise()))
                })
                .collect();
            LawFinding::of(column, protocol, chunk, &curve)
        };
        chunks.into_iter().filter_map(finding).collect()
    }

    fn unit_of(&self, points: &[&Point], column: usize) -> Option<CoherenceUnit> {
        let facts = &self.columns[column];
        let on_nodes = facts.column.protocol.is_some();
        let fits = |threads: &u32| on_nodes || facts.has_room(*threads);
        let counts = points.iter().map(|point| point.threads).filter(|n| *n > 1);
        let threads = counts.filter(fits).max()?;
        let mut costs: Vec<(u64, f64)> = points
            .iter()
            .filter(|point| point.threads == threads)
            .filter_map(|point| Some((point.value_of("chunk")?, point.estimate(column)?.value)))
            .collect();
        costs.sort_by_key(|(chunk, _)| *chunk);
        let (above, at_most) = laws::unit_of(&costs).filter(|_| costs.len() > 1)?;
        Some(CoherenceUnit {
            column,
            threads,
            above,
            at_most,
        })
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
