//! Sentences about a comparison.

use super::model::{
    CauseRow, Change, Comparison, Concluded, FactRow, How, Judged, Noise, Setting, Side, Table,
    Verdict,
};
use super::runs::{Runs, is_disturbed, pace};
use crate::side_by_side::{Column, ratio_words};
use crate::units;
use fathomp_analysis::Analysis;
use std::collections::BTreeSet;

/// An interval as wide as this to one side hides what matters.
const WIDE: f64 = 0.1;

impl Setting {
    /// `4 threads`, `4 ranks of 2 threads`.
    #[must_use]
    pub fn words(self) -> String {
        let threads = units::plural(self.threads.into(), "thread");
        match (self.ranks, self.nodes) {
            (0, 0 | 1) => threads,
            (0, nodes) => format!("{threads} on {}", units::plural(nodes.into(), "node")),
            (ranks, _) => format!("{} of {threads}", units::plural(ranks.into(), "rank")),
        }
    }
}

impl Verdict {
    /// A word or two for a table.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "no difference seen",
            Self::Little => "little difference",
            Self::SingleRuns => "single runs",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

impl Change {
    /// A word or two for a table.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::More => "more",
            Self::New => "new",
            Self::Less => "less",
            Self::Gone => "gone",
            Self::Unclear => "unclear",
            Self::Same => "as before",
        }
    }
}

impl CauseRow {
    /// What and where it is.
    #[must_use]
    pub fn words(&self) -> String {
        match self.place.as_str() {
            "" | "the program" => self.title.clone(),
            place => format!("{} in {place}", self.title),
        }
    }
}

impl Comparison {
    /// What to say where no causes are listed.
    #[must_use]
    pub const fn no_causes(&self) -> &'static str {
        match self.causes_known {
            true => "No cause of lost time is worth a word on any side.",
            false => "Causes of lost time cannot be told for every side, for the reason above.",
        }
    }
}

impl FactRow {
    /// What stands where it is not known.
    #[must_use]
    pub fn nothing(&self) -> String {
        match &self.unknown {
            Some(why) => format!("{} ({why})", units::NOTHING),
            None => units::NOTHING.to_owned(),
        }
    }
}

impl Judged {
    /// What it is called on a side, if that is not what the row is called; how many regions are
    /// counted together there.
    #[must_use]
    pub fn name_on(&self, side: usize) -> Option<String> {
        let names = self.names.get(side)?;
        let together = self.matched.contains(&Some(How::Together));
        match names.len() {
            0 => None,
            many if together => Some(units::plural(many as u64, "region")),
            _ => {
                Some(name_of(names.iter().map(String::as_str))).filter(|own| *own != self.row.name)
            }
        }
    }
}

/// One name, or the first and how many more.
pub(super) fn name_of<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    let first = names.next().unwrap_or("?").to_owned();
    match names.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// With what each side was recorded.
pub(super) fn settings_of(sides: &[Side]) -> String {
    let of = |side: &Side| {
        let alone = side.analyses.iter().filter(|one| !one.program.rehearsal);
        let all = alone
            .map(Setting::of)
            .chain(side.ranks.iter().map(|run| run.setting));
        let all: BTreeSet<Setting> = all.collect();
        let all: Vec<String> = all.into_iter().map(Setting::words).collect();
        match all.is_empty() {
            true => format!("{} has no run to compare", side.name),
            false => format!("{} ran with {}", side.name, all.join(", ")),
        }
    };
    let all: Vec<String> = sides.iter().map(of).collect();
    all.join(", and ")
}

/// What became of the program's time on each side but the first, by the first table that has it.
pub(super) fn summary(sides: &[Side], tables: &[Table]) -> Vec<String> {
    let of = |side: usize| {
        let has = |table: &&Table| table.runs[0] > 0 && table.runs[side] > 0;
        let table = tables.iter().find(has);
        let names = [&sides[side].name, &sides[0].name].map(String::as_str);
        table.map_or_else(
            || {
                format!(
                    "{} and {} have no runs in common, so they are not compared.",
                    names[1], names[0]
                )
            },
            |table| sentence(table, side, names),
        )
    };
    (1..sides.len()).map(of).collect()
}

fn sentence(table: &Table, side: usize, [name, first]: [&str; 2]) -> String {
    let with = table.setting.words();
    let program = &table.program;
    let column = program.row.columns.get(side).and_then(Option::as_ref);
    let verdict = program.verdicts.get(side).copied().flatten();
    let (Some(ratio), Some(verdict)) = (column.and_then(|one| one.ratio), verdict) else {
        return format!(
            "The times of {name} and {first} with {with} are not compared, because a program that did not come to a good end did not do all of its work."
        );
    };
    let value = units::ratio(ratio.value);
    let runs = match [table.runs[0], table.runs[side]] {
        [one, other] if one == other => format!("{} each", units::plural(one as u64, "run")),
        [one, other] => format!("{one} and {}", units::plural(other as u64, "run")),
    };
    let numbers = ratio.interval.map_or_else(String::new, |interval| {
        format!(
            "{} to {}, {runs}",
            decimals(interval.low, ratio.value),
            decimals(interval.high, ratio.value)
        )
    });
    let exact = decimals(ratio.value, ratio.value);
    match verdict {
        Verdict::SingleRuns => single(
            table.noise.as_ref(),
            ratio.value,
            format!("{name} took {value} times as long as {first} with {with}, in one run each"),
        ),
        Verdict::Same => {
            let interval = ratio.interval;
            let wide = interval.map_or(0.0, |one| (one.high - 1.0).max(1.0 - one.low));
            let more = match wide >= WIDE {
                true => {
                    " These runs cannot tell less than that: more runs, or a quieter machine, would."
                }
                false => "",
            };
            format!(
                "No difference can be seen between {first} and {name} with {with}: {exact} times as long ({numbers}).{more}"
            )
        }
        Verdict::Little => {
            format!("{name} takes about as long as {first} with {with}: {exact} times ({numbers}).")
        }
        _ => format!("{name} takes {exact} times as long as {first} with {with} ({numbers})."),
    }
}

/// What a single run on each side says.
fn single(noise: Option<&Noise>, ratio: f64, what: String) -> String {
    let Some(Noise { share, because }) = noise else {
        return format!("{what}, which does not tell whether that is chance.");
    };
    let larger = match (ratio.max(1.0 / ratio)) - 1.0 > *share {
        true => "This difference is larger, but only several runs tell by how much",
        false => "Several runs tell more",
    };
    format!(
        "{what}. That cannot tell a difference below {} from chance ({because}). {larger}: use `fathomp study --repeat 5`.",
        units::percent(*share)
    )
}

/// With three decimals where two would show no difference from 1.
fn decimals(value: f64, near: f64) -> String {
    match (near - 1.0).abs() < 0.01 {
        true => format!("{value:.3}"),
        false => units::ratio(value),
    }
}

/// What makes the comparison doubtful. `runs` are by setting and side.
pub(super) fn doubts(
    sides: &[Side],
    runs: &[Vec<Runs<'_>>],
    concluded: &[Concluded],
) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(runs) = runs.first() {
        for side in 1..sides.len() {
            doubts.extend(against_first(sides, runs, side));
        }
    }
    for (at, side) in sides.iter().enumerate() {
        doubts.extend(of_side(side, runs.iter().map(|all| &all[at])));
        let broken = concluded.get(at).and_then(|one| one.broken.as_ref());
        doubts.extend(broken.map(|why| format!("{}: {why}", side.name)));
    }
    doubts.extend(lacking(sides));
    for (what, has) in [
        (
            "which cache lines threads share",
            (|side| side.sharing) as fn(&Side) -> bool,
        ),
        ("where threads are", |side| side.samples),
    ] {
        let with = sides
            .iter()
            .filter(|one| has(one))
            .map(|one| one.name.as_str());
        let with: Vec<&str> = with.collect();
        if !with.is_empty() && with.len() < sides.len() {
            doubts.push(format!(
                "The study of {} alone looked at {what}, so causes that rest on that may seem to come or go.",
                with.join(", ")
            ));
        }
    }
    doubts
}

fn against_first(sides: &[Side], runs: &[Runs<'_>], side: usize) -> Vec<String> {
    let mut doubts = Vec::new();
    let (name, first_name) = (&sides[side].name, &sides[0].name);
    let (Some(first), Some(own)) = (runs[0].analyses().next(), runs[side].analyses().next()) else {
        return doubts;
    };
    let place = |one: &Analysis| {
        let machine = &one.program.machine;
        (
            machine.host.clone(),
            machine.cpu_model.clone(),
            machine.processors(),
        )
    };
    let machine = |one: &Analysis| {
        let (host, model, processors) = place(one);
        format!(
            "{host} ({model}, {})",
            units::plural(processors.into(), "processor")
        )
    };
    if place(first) != place(own) {
        doubts.push(format!(
            "{name} ran on {}, {first_name} on {}: their times compare the machines as well.",
            machine(own),
            machine(first)
        ));
    }
    if first.program.runtimes != own.program.runtimes {
        doubts.push(format!(
            "{name} ran on {}, {first_name} on {}: their times compare the runtimes as well.",
            own.program.runtimes.join(", "),
            first.program.runtimes.join(", ")
        ));
    }
    if first.program.name != own.program.name {
        doubts.push(format!(
            "{first_name} is of {}, {name} of {}: they are taken for one program, since regions of both match.",
            first.program.name, own.program.name
        ));
    }
    if let Some(ratio) = pace(&runs[0], &runs[side]) {
        doubts.push(format!(
            "The processors themselves took {} times as long for the same computing around the runs of {name} as around those of {first_name}; intervals reach as far as that explains.",
            units::ratio(ratio)
        ));
    }
    doubts.extend(other_output(runs, side).then(|| {
        format!("{name} prints something else than {first_name}: is its result still right?")
    }));
    doubts
}

/// Each side prints the same in all of several runs, but not the same as the other.
fn other_output(runs: &[Runs<'_>], side: usize) -> bool {
    let printed = |side: usize| {
        let hashes = runs[side]
            .analyses()
            .map(|one| one.program.output.as_ref().map(|out| out.hash));
        let hashes: Vec<Option<u64>> = hashes.collect();
        let same = hashes.len() > 1 && hashes.iter().all(|hash| *hash == hashes[0]);
        hashes.first().copied().flatten().filter(|_| same)
    };
    let both = printed(0).zip(printed(side));
    both.is_some_and(|(first, own)| first != own)
}

fn of_side<'a>(side: &Side, runs: impl Iterator<Item = &'a Runs<'a>>) -> Vec<String> {
    let name = &side.name;
    let runs: Vec<&Runs<'_>> = runs.collect();
    let sum = |of: fn(&Runs<'_>) -> usize| runs.iter().map(|one| of(one)).sum::<usize>() as u64;
    let mut doubts = Vec::new();
    let failed = sum(|one| one.failed);
    if failed > 0 {
        doubts.push(format!(
            "{} of {name} did not come to a good end and {} left out.",
            units::plural(failed, "run"),
            if failed == 1 { "is" } else { "are" }
        ));
    }
    if runs.iter().any(|one| one.cut_short) {
        doubts.push(format!(
            "No run of {name} came to a good end: what it did until then is shown, and no time of it is compared."
        ));
    }
    let disturbed = sum(|one| one.disturbed);
    if disturbed > 0 {
        doubts.push(format!(
            "{} of {name} that other programs disturbed {} left out.",
            units::plural(disturbed, "run"),
            if disturbed == 1 { "is" } else { "are" }
        ));
    }
    let kept = runs.iter().flat_map(|one| one.analyses());
    let kept: Vec<&Analysis> = kept.filter(|one| is_disturbed(one)).collect();
    let used = kept
        .iter()
        .filter_map(|one| one.program.others_used)
        .fold(0.0, f64::max);
    let kept = kept.len();
    if kept > 0 {
        doubts.push(format!(
            "Other programs disturbed {} of {name} (they used up to {} of the processors), and there are too few others to leave {} out; intervals reach as far as a difference in that explains.",
            units::plural(kept as u64, "run"),
            units::percent(used),
            if kept == 1 { "it" } else { "them" }
        ));
    }
    let regions = side.analyses.iter().flat_map(|one| &one.regions);
    let mut modules = regions.map(|region| &region.place.module);
    if side.modules.is_empty() && modules.any(|module| !module.is_empty()) {
        doubts.push(format!(
            "No scan of the program is kept with {name}, so its regions have the names that the program's file gives them now."
        ));
    }
    doubts
}

/// What is not compared because a side lacks it.
fn lacking(sides: &[Side]) -> Option<String> {
    let of = |side: &Side| -> BTreeSet<Setting> {
        let alone = side.analyses.iter().filter(|one| !one.program.rehearsal);
        alone
            .map(Setting::of)
            .chain(side.ranks.iter().map(|run| run.setting))
            .collect()
    };
    let all: Vec<BTreeSet<Setting>> = sides.iter().map(of).collect();
    let every: BTreeSet<Setting> = all.iter().flatten().copied().collect();
    let words = sides.iter().zip(&all).filter_map(|(side, own)| {
        let lacks: Vec<String> = every.difference(own).map(|one| one.words()).collect();
        (!lacks.is_empty()).then(|| format!("{} has no run with {}", side.name, lacks.join(", ")))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("{}: what one lacks is not compared.", words.join("; ")))
}

/// A clause about what became slower by more than `part`, and by more than `least_ns`.
pub(super) fn slower(
    comparison: &Comparison,
    table: &Table,
    judged: &Judged,
    part: f64,
    least_ns: f64,
) -> Vec<String> {
    let columns = judged.row.columns.iter().enumerate();
    let found = columns.filter_map(|(side, column)| {
        let column: &Column = column.as_ref()?;
        let ratio = column.ratio?;
        let certain = ratio
            .interval
            .is_some_and(|interval| interval.low > 1.0 + part);
        let longer = judged.longer_ns.get(side).copied().flatten()?;
        let slower = judged.verdicts.get(side).copied().flatten() == Some(Verdict::Slower);
        (certain && slower && longer > least_ns).then(|| {
            format!(
                "{} of {} takes {} times as long with {}",
                judged.row.name,
                comparison.sides[side],
                ratio_words(&ratio),
                table.setting.words()
            )
        })
    });
    found.collect()
}
