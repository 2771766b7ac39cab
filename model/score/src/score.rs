//! The score of a region.

use crate::classify::{Class, judge};
use crate::decide::class;
use crate::kernel::{Kernel, NoKernel, Statement};
use crate::rules::{Averages, Machine, Outside, Pressure, Ratio, Rules};
use crate::weights::Weights;
use fathomp_regions::Region;
use serde::Serialize;

/// A score, and what it is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// From 0, memory alone, to 1, no memory.
    pub value: f64,
    /// Average weight of what keeps the processor busy.
    pub good: f64,
    /// Average weight of what keeps memory busy.
    pub bad: f64,
    /// The probability that what would miss does.
    pub pressure: f64,
    /// Class among the packages asked about, from 0.
    pub class: u32,
    /// Packages that are worthwhile: one more.
    pub packages: u32,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// Whether it was made from a source, rather than from a binary.
    pub from_source: bool,
}

/// An access, or the arithmetic of a statement, in a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Number of the statement, from 0.
    pub statement: usize,
    /// Line of the statement; 0 if not known.
    pub line: u32,
    /// The access as written; empty for arithmetic.
    pub access: String,
    /// Whether it writes.
    pub writes: bool,
    /// What the access is taken for; `None` for arithmetic.
    pub class: Option<Class>,
    /// Why, part of a sentence.
    pub why: &'static str,
    /// What it adds to its statement's good weight.
    pub good: f64,
    /// What it adds to its statement's bad weight.
    pub bad: f64,
}

/// The score of a region whose arrays hold `working_set` bytes.
///
/// # Errors
/// See [`NoKernel`].
pub fn score(
    region: &Region,
    working_set: f64,
    machine: &Machine,
    rules: &Rules,
    weights: &Weights,
) -> Result<Score, NoKernel> {
    Ok(score_of(
        &Kernel::of(region)?,
        working_set,
        machine,
        rules,
        weights,
    ))
}

/// The score of a kernel whose arrays hold `working_set` bytes.
#[must_use]
pub fn score_of(
    kernel: &Kernel,
    working_set: f64,
    machine: &Machine,
    rules: &Rules,
    weights: &Weights,
) -> Score {
    let pressure = rules.pressure(machine, working_set);
    let most = kernel
        .statements
        .iter()
        .flat_map(|statement| &statement.accesses)
        .map(|access| access.dimensions)
        .max()
        .unwrap_or(0);
    let mut parts = Vec::new();
    let (mut good, mut bad, mut scores, mut all) = (0.0, 0.0, 0.0, 0.0);
    for (number, statement) in kernel.statements.iter().enumerate() {
        let from = parts.len();
        add_parts(statement, most, pressure, rules, weights, &mut parts);
        for part in &mut parts[from..] {
            part.statement = number;
        }
        let of_statement = parts[from..].iter();
        let (its_good, its_bad) = of_statement.fold((0.0, 0.0), |(good, bad), part| {
            (good + part.good, bad + part.bad)
        });
        if its_good + its_bad <= 0.0 {
            continue;
        }
        let times = if rules.by_iterations {
            statement.iterations.clamp(0.0, f64::MAX.sqrt())
        } else {
            1.0
        };
        good += its_good * times;
        bad += its_bad * times;
        scores += ratio(its_good, its_bad, rules.ratio) * times;
        all += times;
    }
    if all > 0.0 {
        good /= all;
        bad /= all;
        scores /= all;
    }
    let value = match rules.averages {
        Averages::GoodAndBad => ratio(good, bad, rules.ratio),
        Averages::Scores => scores,
    };
    let class = class(value, machine.packages);
    Score {
        value,
        good,
        bad,
        pressure,
        class,
        packages: class + 1,
        parts,
        from_source: kernel.from_source,
    }
}

fn ratio(good: f64, bad: f64, ratio: Ratio) -> f64 {
    match ratio {
        Ratio::Difference if good + bad > 0.0 => ((good - bad) / (good + bad)).max(0.0),
        Ratio::Plain if bad > 0.0 => (good / bad).min(1.0),
        // Nothing keeps memory busy.
        Ratio::Plain if good > 0.0 => 1.0,
        Ratio::Difference | Ratio::Plain => 0.0,
    }
}

fn add_parts(
    statement: &Statement,
    most: u32,
    pressure: f64,
    rules: &Rules,
    weights: &Weights,
    parts: &mut Vec<Part>,
) {
    let operations = &statement.operations;
    let arithmetic = operations.additions * weights.addition
        + operations.multiplications * weights.multiplication
        + operations.divisions * weights.division
        + operations.calls * weights.call;
    if arithmetic > 0.0 {
        parts.push(Part {
            statement: 0,
            line: statement.line,
            access: String::new(),
            writes: false,
            class: None,
            why: "arithmetic",
            good: arithmetic,
            bad: 0.0,
        });
    }
    for access in &statement.accesses {
        let judged = judge(access, statement, most, rules);
        let miss = if access.writes {
            &weights.write_miss
        } else {
            &weights.read_miss
        };
        let missing = match rules.pressure {
            Pressure::Reused if !judged.reused => 1.0,
            Pressure::Reused | Pressure::Every => pressure,
        };
        let rest = match rules.outside {
            Outside::Hit => (1.0 - missing) * weights.hit,
            Outside::Nothing => 0.0,
        };
        let (good, bad) = match judged.class {
            Class::Ignored => (0.0, 0.0),
            Class::Hit => (weights.hit, 0.0),
            Class::Streaming => (rest, missing * miss.streaming),
            Class::Latency => (rest, missing * miss.latency),
        };
        parts.push(Part {
            statement: 0,
            line: statement.line,
            access: access.text.clone(),
            writes: access.writes,
            class: Some(judged.class),
            why: judged.why,
            good,
            bad,
        });
    }
}
