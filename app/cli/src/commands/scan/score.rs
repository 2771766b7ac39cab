//! `fathomp scan --score`: the published score of each region, and what it is made of.

use crate::args::Scan;
use crate::failure::Failure;
use crate::scored;
use fathomp_advise::Target;
use fathomp_predict::machine::{Cache, Machine as Facts};
use fathomp_regions::{BodyKind, Region, Regions};
use fathomp_report::text::scan_title;
use fathomp_score::{Class, Machine, Part, Rules, Score, Weights, score};
use serde::Serialize;
use std::fmt::Write as _;

/// Data as large as the published evaluation had them, in largest caches.
const CACHES: f64 = 10.0;

#[derive(Serialize)]
pub(super) struct Scores {
    machine: String,
    /// Bytes of the largest cache of a package.
    cache_bytes: f64,
    packages: u32,
    /// Packages that the machine has; with one, the score is that of two.
    has_packages: u32,
    /// Bytes of data that are assumed.
    working_set_bytes: f64,
    weights: Weights,
    rules: Rules,
    regions: Vec<Scored>,
}

#[derive(Serialize)]
struct Scored {
    region: String,
    score: Option<Score>,
    /// Why it has none.
    why: Option<String>,
}

pub(super) fn scores(plan: &Scan, regions: &Regions) -> Result<Scores, Failure> {
    let target = match plan.machine.as_deref() {
        Some(name) => scored::machine_named(name, None)?,
        None => {
            let mut facts = Facts::unmeasured(crate::host::usable_cpus());
            facts.cpu_model = crate::host::machine().cpu_model;
            let own = crate::host::caches().into_iter();
            facts.caches = own
                .map(|cache| Cache {
                    level: cache.level,
                    bytes: cache.bytes,
                    line_bytes: cache.line_bytes,
                    shared_by: cache.shared_by,
                })
                .collect();
            Target::measured(facts, crate::host::packages())
        }
    };
    let last = target.machine.caches.last();
    let cache = last.map(|cache| cache.bytes as f64).ok_or_else(|| {
        Failure::new(format!(
            "the caches of {} are not known: name a machine with --machine",
            target.name
        ))
    })?;
    let machine = Machine {
        cache_bytes: cache,
        packages: target.packages.max(2),
    };
    let weights = scored::weights(plan.weights.as_deref())?;
    let rules = Rules::default();
    let working_set = CACHES * cache;
    let parallel = regions.regions.iter().filter(|region| is_parallel(region));
    let scored = parallel.map(|region| {
        let found = score(region, working_set, &machine, &rules, &weights);
        Scored {
            region: scan_title(regions, region),
            why: found.as_ref().err().map(ToString::to_string),
            score: found.ok(),
        }
    });
    Ok(Scores {
        machine: target.name.clone(),
        cache_bytes: cache,
        packages: machine.packages,
        has_packages: target.packages,
        working_set_bytes: working_set,
        regions: scored.collect(),
        weights,
        rules,
    })
}

/// Tasks and worksharing outside of regions take part in other regions' time.
fn is_parallel(region: &Region) -> bool {
    region.body.as_ref().is_none_or(|body| {
        matches!(
            body.kind,
            BodyKind::Parallel | BodyKind::ParallelLoop | BodyKind::ParallelSections
        )
    })
}

impl Scores {
    pub(super) fn text(&self) -> String {
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        // Writing to a String cannot fail.
        let mut text = String::new();
        for one in &self.regions {
            let _ = writeln!(text, "{}", one.region);
            match (&one.score, &one.why) {
                (Some(score), _) => describe(&mut text, score, self.packages),
                (None, why) => {
                    let _ = writeln!(text, "  No score: {}.", why.as_deref().unwrap_or_default());
                }
            }
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "The published score on {}{}: {} packages with {:.1} MiB of cache each, data of {:.0} times that.\n\
             Score: (good - bad) / (good + bad), at least 0, over the means of all statements.\n\
             Weights: {}",
            self.machine,
            match self.has_packages {
                0 | 1 => " as if it had two packages",
                _ => "",
            },
            self.packages,
            mib(self.cache_bytes),
            self.working_set_bytes / self.cache_bytes,
            self.weights.source
        );
        text
    }
}

fn describe(text: &mut String, score: &Score, packages: u32) {
    let worthwhile = match (score.packages, packages) {
        (n, all) if n == all => format!("all {all} packages are worthwhile"),
        (1, all) => format!("1 of {all} packages is worthwhile"),
        (n, all) => format!("{n} of {all} packages are worthwhile"),
    };
    let _ = writeln!(
        text,
        "  score {:.2}: good {:.1}, bad {:.1}; P {:.2}; {worthwhile}; from the {}",
        score.value,
        score.good,
        score.bad,
        score.pressure,
        if score.from_source { "source" } else { "code" }
    );
    for parts in score
        .parts
        .chunk_by(|one, next| one.statement == next.statement)
    {
        let sum = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
        let (good, bad) = (sum(|one| one.good), sum(|one| one.bad));
        let line = match parts[0].line {
            0 => "statement".to_owned(),
            line => format!("line {line}"),
        };
        let _ = writeln!(text, "    {line}: good {good:.1}, bad {bad:.1}");
        for part in parts {
            let _ = writeln!(text, "      {}", words(part));
        }
    }
}

fn words(part: &Part) -> String {
    let (does, weight) = match part.writes {
        true => ("writes", part.good - part.bad),
        false => ("reads", part.good - part.bad),
    };
    let class = match part.class {
        None => return format!("{}: {weight:+.1}", part.why),
        Some(Class::Ignored) => return format!("{does} {}: ignored, {}", part.access, part.why),
        Some(Class::Hit) => "hit",
        Some(Class::Streaming) => "miss, streaming",
        Some(Class::Latency) => "miss, latency",
    };
    format!(
        "{does} {}: {class}, {weight:+.1}: {}",
        part.access, part.why
    )
}
