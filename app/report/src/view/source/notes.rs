//! What stands beside source lines: which construct it is, how often it was met,
//! and what that costs at this machine's prices.
//!
//! Prices are those of constructs without contention or delay: what threads really
//! waited is a number of its own. Where the line of a construct was not recorded,
//! it is the only directive of its kind in the region, or else the region's first
//! line that carries the note.

use super::super::listings;
use crate::text::scan::parts;
use crate::units::{count, duration, percent, plural};
use fathomp_analysis::{
    Analysis, Lines, LoopKind, LoopRow, PieceKind, Pieces, Region, SiteKind, State,
};
use fathomp_predict::machine::{ConstructCosts, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// Kinds of pieces that are told of one region.
const PIECES_MAX: usize = 3;

/// Pieces for each thread of a team beyond which their number limits nothing, for teams
/// of at least so many threads.
const PIECES_A_THREAD: u64 = 4;
const PIECES_TEAM: u32 = 16;
/// Prices below this are noise of the calibration.
const PRICE_NS_MIN: f64 = 1.0;
/// So many lines, its own included, a loop may begin after its directive.
const LOOP_AFTER_MAX: usize = 6;
/// Of a line so much is searched for a directive.
const WORDS_CHARS: usize = 1000;

/// What notes are made from.
pub(super) struct Seen<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) region: &'a Region,
    /// The lines that are shown.
    pub(super) lines: &'a Lines,
    /// Their numbers and texts.
    pub(super) text: &'a [(u32, &'a str)],
    /// What things cost, if that was measured.
    pub(super) machine: Option<&'a Machine>,
    /// What the region contains, if it was scanned.
    pub(super) scanned: Option<&'a fathomp_regions::Region>,
    /// How many threads it deserves, if that was asked.
    pub(super) advised: Option<&'a fathomp_advise::RegionAdvice>,
}

impl Seen<'_> {
    /// A price for a team like the region's, if it was measured.
    fn price(&self, of: fn(&ConstructCosts) -> f64) -> Option<f64> {
        let costs = self.machine?.costs_at(self.region.team_size_max.max(1))?;
        Some(of(&costs)).filter(|price| price.is_finite() && *price >= PRICE_NS_MIN)
    }
}

/// Notes by line; every line lies within those shown.
pub(super) fn notes(seen: &Seen<'_>) -> BTreeMap<u32, Vec<String>> {
    let mut notes = Notes {
        first: seen.lines.first,
        last: seen.lines.last,
        by_line: BTreeMap::new(),
    };
    let directive = seen.region.lines.as_ref().map(|lines| lines.first);
    notes.at(directive, region(seen, seen.region));
    for inner in inside(seen) {
        notes.at(inner.place.line, region(seen, inner));
    }
    let many = PIECES_A_THREAD * u64::from(seen.region.team_size_max.max(PIECES_TEAM));
    let few = seen.region.work.pieces.iter();
    for one in few.filter(|one| one.pieces <= many).take(PIECES_MAX) {
        notes.at(directive, pieces(one));
    }
    barriers(seen, directive, &mut notes);
    tasks(seen, directive, &mut notes);
    for one in loops(seen) {
        notes.at(dealt_at(seen, one), worksharing(seen, one));
    }
    mutexes(seen, directive, &mut notes);
    if let Some(advised) = seen.advised {
        notes.at(directive, advice(advised));
    }
    contents(seen, &mut notes);
    notes.by_line
}

/// "Deserves 2 threads: memory bounds it".
fn advice(region: &fathomp_advise::RegionAdvice) -> String {
    format!(
        "deserves {}: {}",
        plural(region.advised.threads.into(), "thread"),
        region.reason
    )
}

/// What the loops at these lines do in an iteration.
fn contents(seen: &Seen<'_>, notes: &mut Notes) {
    let Some((region, body)) = seen
        .scanned
        .and_then(|region| Some((region, region.body.as_ref()?)))
    else {
        return;
    };
    for part in parts(body, region.construct.as_ref()) {
        // Of other lines, functions that were followed, nothing is shown here.
        if !(notes.first..=notes.last).contains(&part.line) {
            continue;
        }
        notes.at(Some(part.line), format!("iterations: {}", part.iterations));
        for line in part.contents {
            notes.at(Some(part.line), line);
        }
    }
}

/// Collects notes.
struct Notes {
    first: u32,
    last: u32,
    by_line: BTreeMap<u32, Vec<String>>,
}

impl Notes {
    fn at(&mut self, line: Option<u32>, note: String) {
        let line = line.filter(|line| (self.first..=self.last).contains(line));
        let list = self.by_line.entry(line.unwrap_or(self.first)).or_default();
        if !list.contains(&note) {
            list.push(note);
        }
    }
}

/// "400 × 1.2 µs = 480 µs".
fn priced(number: u64, each_ns: f64) -> String {
    format!(
        "{} × {} = {}",
        count(number),
        duration(each_ns),
        duration(number as f64 * each_ns)
    )
}

/// Regions on these lines that were encountered in this one.
fn inside<'a>(seen: &Seen<'a>) -> impl Iterator<Item = &'a Region> {
    let (lines, key) = (seen.lines, &seen.region.key);
    seen.analysis.regions.iter().filter(move |inner| {
        inner.key != *key && inner.parents.contains(key) && lines.contain(&inner.place)
    })
}

fn pieces(one: &Pieces) -> String {
    let noun = match one.kind {
        PieceKind::Iterations => "iteration",
        PieceKind::Chunks => "chunk",
        PieceKind::Sections => "section",
        PieceKind::Tasks => "task",
    };
    let part = if one.share < 0.95 {
        format!("{} of the work", percent(one.share))
    } else {
        "work".to_owned()
    };
    format!(
        "{part} comes in {}: threads beyond {} have none of it",
        plural(one.pieces, noun),
        count(one.pieces)
    )
}

fn region(seen: &Seen<'_>, region: &Region) -> String {
    let what = match region.kind {
        SiteKind::Teams => "teams",
        _ => "parallel region",
    };
    let team = region.team_size_max;
    let times = plural(region.instances, "execution");
    let costs = seen
        .machine
        .and_then(|machine| machine.costs_at(team.max(1)));
    let price = costs.map(|costs| costs.fork_join_ns);
    match price.filter(|price| *price >= PRICE_NS_MIN && team > 1) {
        Some(price) => format!(
            "{what}: {times}; to start and end a team of {team} takes {}: {} in all",
            duration(price),
            duration(region.instances as f64 * price)
        ),
        None => format!("{what}: {times} by {}", plural(team.into(), "thread")),
    }
}

/// Barriers inside, of which every thread counted its own; those at ends of loops that
/// the compiler divided itself are among them.
fn barriers(seen: &Seen<'_>, directive: Option<u32>, notes: &mut Notes) {
    let waits = seen.region.wait_counts.get(&State::ExplicitBarrier);
    let team = u64::from(seen.region.team_size_max.max(1));
    let number = waits.copied().unwrap_or(0).div_ceil(team);
    let rows = waited(seen, &[State::ExplicitBarrier]);
    for (line, ns, waits) in &rows {
        notes.at(Some(*line), waiting("barrier", *waits, *ns));
    }
    if number == 0 {
        return;
    }
    let lines: BTreeSet<u32> = rows.iter().map(|row| row.0).collect();
    let ends = |line: u32, words: &[String]| {
        let divides = named(words, &["for", "do", "sections", "single", "workshare"]);
        let recorded = loops(seen).any(|one| dealt_at(seen, one) == Some(line));
        named(words, &["barrier"]) || divides && !recorded && !named(words, &["parallel", "nowait"])
    };
    let line = only(&lines).or_else(|| only_directive(seen, ends));
    let price = seen.price(|costs| costs.barrier_ns);
    let what = if line.is_some() {
        "barrier"
    } else {
        "barriers inside, also at ends of loops"
    };
    notes.at(
        line.or(directive),
        match price.filter(|_| team > 1) {
            Some(price) => format!("{what}: {} if no thread is late", priced(number, price)),
            None => format!("{what}: {}", count(number)),
        },
    );
}

fn tasks(seen: &Seen<'_>, directive: Option<u32>, notes: &mut Notes) {
    let region = seen.region;
    if region.tasks_created == 0 && region.tasks_run == 0 {
        return;
    }
    let line = only_directive(seen, |_, words| named(words, &["task", "taskloop"]));
    notes.at(
        line.or(directive),
        format!(
            "tasks: {} created, {} run",
            count(region.tasks_created),
            count(region.tasks_run)
        ),
    );
}

/// Loops on these lines that ran in the region.
fn loops<'a>(seen: &Seen<'a>) -> impl Iterator<Item = &'a LoopRow> {
    let (lines, key) = (seen.lines, &seen.region.key);
    seen.analysis.loops.iter().filter(move |one| {
        let here = one.regions.is_empty() || one.regions.contains(key);
        here && lines.contain(&one.place)
    })
}

/// The directive that a loop is at: the recorded line may be one soon after it, or that
/// of the region.
fn dealt_at(seen: &Seen<'_>, one: &LoopRow) -> Option<u32> {
    let line = one.place.line?;
    let names: &[&str] = match one.kind {
        LoopKind::Sections => &["sections"],
        LoopKind::Taskloop => &["taskloop"],
        _ => &["for", "do", "loop", "distribute"],
    };
    let before = seen.text.iter().rev().filter(|(number, _)| *number <= line);
    let nearest = before
        .take(LOOP_AFTER_MAX)
        .map(|(number, text)| (*number, directive_words(text)))
        .find(|(_, words)| !words.is_empty());
    nearest
        .filter(|(_, words)| named(words, names))
        .map(|(directive, _)| directive)
        .or_else(|| only_directive(seen, |_, words| named(words, names)))
        .or(Some(line))
}

fn worksharing(seen: &Seen<'_>, one: &LoopRow) -> String {
    let what = match one.kind {
        LoopKind::Sections => listings::schedule(one),
        _ => format!("loop, {}", listings::schedule(one)),
    };
    let on_request = matches!(one.kind, LoopKind::Dynamic | LoopKind::Guided);
    let price = seen.price(|costs| costs.dynamic_chunk_ns);
    let chunks = match price.filter(|_| on_request) {
        Some(price) => format!("chunks {}", priced(one.chunks, price)),
        None => plural(one.chunks, "chunk"),
    };
    match one.kind {
        LoopKind::Untold => what,
        LoopKind::Sections => format!("{what}: {}", plural(one.iterations, "section")),
        _ => format!("{what}: {}; {chunks}", plural(one.iterations, "iteration")),
    }
}

/// Critical sections and locks, which are counted together.
fn mutexes(seen: &Seen<'_>, directive: Option<u32>, notes: &mut Notes) {
    let passages = seen.region.mutexes_taken;
    let critical = waited(seen, &[State::Critical]);
    let locks = waited(seen, &[State::Lock]);
    let lines = |of: &[(u32, u64, u64)]| -> BTreeSet<u32> { of.iter().map(|one| one.0).collect() };
    let (at_critical, at_lock) = (lines(&critical), lines(&locks));
    let calls_locks = seen.text.iter().any(|(_, line)| {
        ["omp_set_lock", "omp_test_lock", "omp_set_nest_lock"]
            .iter()
            .any(|call| line.contains(call))
    });
    let (what, line) = if at_lock.is_empty() && !calls_locks {
        let line = only(&at_critical).or_else(|| {
            only_directive(seen, |_, words| named(words, &["critical"]))
                .filter(|_| at_critical.is_empty())
        });
        ("critical", line)
    } else if at_critical.is_empty() {
        ("lock", only(&at_lock))
    } else {
        ("", None)
    };
    if passages > 0 {
        let what = if line.is_some() {
            what
        } else {
            "critical sections and locks"
        };
        notes.at(line.or(directive), passed(seen, what, passages));
    }
    for (what, rows) in [("critical", critical), ("lock", locks)] {
        for (line, ns, waits) in rows {
            notes.at(Some(line), waiting(what, waits, ns));
        }
    }
}

/// What passing a section so often costs, and what a reduction would.
fn passed(seen: &Seen<'_>, what: &str, passages: u64) -> String {
    let Some(price) = seen.price(|costs| costs.lock_ns) else {
        return format!("{what}: {}", plural(passages, "passage"));
    };
    let all = format!(
        "{what}: {} × {} = {} in all",
        plural(passages, "passage"),
        duration(price),
        duration(passages as f64 * price)
    );
    let team = u64::from(seen.region.team_size_max.max(1));
    let once = seen.region.instances.saturating_mul(team);
    if what == "critical" && once <= passages / 2 {
        format!(
            "{all}; if it only gathers a result, a reduction passes once for each thread: {}",
            duration(once as f64 * price)
        )
    } else {
        all
    }
}

fn waiting(what: &str, waits: u64, ns: u64) -> String {
    format!(
        "{what}: threads waited {} here, in {}",
        duration(ns as f64),
        plural(waits, "long wait")
    )
}

/// Lines with waits of these kinds whose place is known: line, time and number.
fn waited(seen: &Seen<'_>, states: &[State]) -> Vec<(u32, u64, u64)> {
    let rows = seen.analysis.waits.iter().filter(|row| {
        states.contains(&row.state) && row.key != seen.region.key && seen.lines.contain(&row.place)
    });
    rows.filter_map(|row| Some((row.place.line?, row.time_ns, row.count)))
        .collect()
}

fn only(lines: &BTreeSet<u32>) -> Option<u32> {
    match lines.len() {
        1 => lines.first().copied(),
        _ => None,
    }
}

/// The only line shown with a directive of whose words this is true.
fn only_directive(seen: &Seen<'_>, is: impl Fn(u32, &[String]) -> bool) -> Option<u32> {
    let found = seen
        .text
        .iter()
        .filter(|(number, line)| is(*number, &directive_words(line)))
        .map(|(number, _)| *number)
        .collect();
    only(&found)
}

fn named(words: &[String], names: &[&str]) -> bool {
    words.iter().any(|word| names.contains(&word.as_str()))
}

/// Names of the directive that begins on a line and of its clauses, in small letters;
/// none if there is no directive, or one that ends another.
fn directive_words(line: &str) -> Vec<String> {
    let start: String = line.trim_start().chars().take(WORDS_CHARS).collect();
    let line = start.to_ascii_lowercase();
    let pragma = line
        .strip_prefix('#')
        .and_then(|rest| rest.trim_start().strip_prefix("pragma"))
        .and_then(|rest| rest.trim_start().strip_prefix("omp"));
    let fortran = ["!$omp", "c$omp", "*$omp"]
        .iter()
        .find_map(|sentinel| line.strip_prefix(sentinel));
    let mut depth = 0_u32;
    let outside: String = pragma
        .or(fortran)
        .unwrap_or_default()
        .chars()
        .map(|letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            let word = depth == 0 && (letter.is_alphanumeric() || letter == '_');
            if word { letter } else { ' ' }
        })
        .collect();
    let words: Vec<String> = outside.split_whitespace().map(str::to_owned).collect();
    match words.first().map(String::as_str) {
        Some("end") => Vec::new(),
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_told_from_other_lines() {
        for (line, words) in [
            ("#pragma omp critical", "critical"),
            ("  # pragma  omp critical(sum)", "critical"),
            ("!$omp critical", "critical"),
            ("      C$OMP CRITICAL (sum)", "critical"),
            ("!$omp end critical", ""),
            ("#pragma omp parallel for if(for)", "parallel for if"),
            (
                "#pragma omp for nowait schedule(static, f(1, 2))",
                "for nowait schedule",
            ),
            ("// #pragma omp critical", ""),
            ("critical = 1;", ""),
            ("", ""),
        ] {
            assert_eq!(directive_words(line).join(" "), words, "{line}");
        }
    }
}
