//! How costs of memory consistency grow with the number of threads or nodes, and the unit in which
//! memory is kept consistent, from how they depend on the size of chunks.
//!
//! The laws are those that the MCBENCH paper (IWOMP 2008, sections 4.1 and 4.2) expects: of n
//! writers of a page each reader needs what n - 1 others changed.

use super::quantity::size;
use serde::Serialize;

/// A page, in bytes.
const PAGE: u64 = 4096;
/// A shape needs so many points, of two threads or more.
const POINTS_MIN: usize = 3;
/// Another law that fits at most so many times as badly cannot be told from the best.
const AS_GOOD: f64 = 1.25;
/// So many points, whose costs are uncertain by at most such a factor, tell which law it is.
const TOLD_POINTS: usize = 4;
const NOISE_MAX: f64 = 1.2;
/// A fit off by more than this factor, on the average, is none.
const FITS: f64 = 1.5;
/// Costs that are certain follow a law if they grow by at most such a factor more or less: laws
/// count messages alone, not what each takes besides.
const GROWS_AS: f64 = 1.25;
/// Chunks cost little if they cost at most so many times what the largest does.
const LITTLE: f64 = 2.0;

/// How a cost depends on the number n of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// n.
    Linear,
    /// (n-1)/n.
    Others,
    /// 1/n.
    Share,
    /// (n-1)/n^2.
    OthersShare,
}

impl Law {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Others, Self::Share, Self::OthersShare];

    /// As the paper writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "O(n)",
            Self::Others => "O((n-1)/n)",
            Self::Share => "O(1/n)",
            Self::OthersShare => "O((n-1)/n^2)",
        }
    }

    fn at(self, n: f64) -> f64 {
        match self {
            Self::Linear => n,
            Self::Others => (n - 1.0) / n,
            Self::Share => 1.0 / n,
            Self::OthersShare => (n - 1.0) / (n * n),
        }
    }

    /// What the paper expects of a chunk (none: one for each thread) under a protocol (none:
    /// caches of one machine).
    #[must_use]
    pub fn expected(protocol: Option<&str>, chunk: Option<u64>) -> Self {
        // Between nodes, several write to one page; between caches, words as small as these
        // have to be to one line.
        let shared_below = if protocol.is_some() { PAGE } else { 16 };
        let small = chunk.is_some_and(|bytes| bytes < shared_below);
        match (protocol, small) {
            (Some("homeless"), true) => Self::Linear,
            (Some("homeless"), false) | (None, false) => Self::Share,
            (Some(_), false) => Self::OthersShare,
            (_, true) => Self::Others,
        }
    }
}

/// A law and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Which.
    pub law: Law,
    /// What its shape is multiplied by, in the unit of what was measured.
    pub factor: f64,
    /// Root mean square of the logarithm of measured over fitted.
    pub residual: f64,
}

/// The fits of a curve of (n, cost), best first; none of too few points.
#[must_use]
pub fn fits(curve: &[(f64, f64)]) -> Vec<Fit> {
    let points: Vec<(f64, f64)> = curve
        .iter()
        .copied()
        .filter(|(n, cost)| *n >= 2.0 && *cost > 0.0 && cost.is_finite())
        .collect();
    if points.len() < POINTS_MIN {
        return Vec::new();
    }
    let count = points.len() as f64;
    let fit = |law: Law| {
        let logarithms = || points.iter().map(move |(n, cost)| (cost / law.at(*n)).ln());
        let mean = logarithms().sum::<f64>() / count;
        let squares: f64 = logarithms().map(|one| (one - mean).powi(2)).sum();
        Fit {
            law,
            factor: mean.exp(),
            residual: (squares / count).sqrt(),
        }
    };
    let mut fits: Vec<Fit> = Law::ALL.into_iter().map(fit).collect();
    fits.sort_by(|a, b| a.residual.total_cmp(&b.residual));
    fits
}

/// What a curve of costs of consistency follows.
#[derive(Clone, Debug, Serialize)]
pub struct LawFinding {
    /// The column that measured it.
    pub column: usize,
    /// Bytes of a chunk; none: one chunk for each thread.
    pub chunk: Option<u64>,
    /// The best fit.
    pub best: Fit,
    /// Others that fit about as well.
    pub others: Vec<Law>,
    /// What the paper expects, if it says anything of such chunks.
    pub expected: Option<Law>,
    /// Numbers of threads.
    pub points: usize,
    /// The fewest and the most of them.
    pub range: [f64; 2],
    /// Costs at the most over those at the fewest.
    pub growth: f64,
    /// How uncertain costs are, on the average: the logarithm of a factor.
    pub noise: f64,
}

impl LawFinding {
    /// What a curve follows; none of too few points. Of each, n, the cost, and the logarithm of the
    /// factor by which that is uncertain.
    pub(super) fn of(
        column: usize,
        protocol: Option<&str>,
        chunk: Option<u64>,
        curve: &[(f64, f64, f64)],
    ) -> Option<Self> {
        let mut several: Vec<_> = curve.iter().filter(|(n, ..)| *n >= 2.0).collect();
        several.sort_by(|a, b| a.0.total_cmp(&b.0));
        let costs: Vec<_> = several.iter().map(|(n, cost, _)| (*n, *cost)).collect();
        let fits = fits(&costs);
        let best = *fits.first()?;
        let squares: f64 = several.iter().map(|(.., noise)| noise * noise).sum();
        let noise = (squares / several.len() as f64).sqrt();
        let near = best.residual.max(noise).max(0.02) * AS_GOOD;
        let others = fits.iter().skip(1).filter(|fit| fit.residual <= near);
        let (first, last) = (costs.first()?, costs.last()?);
        Some(Self {
            column,
            chunk,
            best,
            others: others.map(|fit| fit.law).collect(),
            expected: all_write(protocol, chunk, last.0).then(|| Law::expected(protocol, chunk)),
            points: costs.len(),
            range: [first.0, last.0],
            growth: last.1 / first.1,
            noise,
        })
    }

    /// How much costs grow by the expected law over the same n.
    #[must_use]
    pub fn expected_growth(&self) -> Option<f64> {
        let [fewest, most] = self.range;
        let law = self.expected?;
        Some(law.at(most) / law.at(fewest))
    }

    /// Whether there is enough to tell laws apart.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.points >= TOLD_POINTS && self.noise <= NOISE_MAX.ln()
    }

    /// Whether the expected law cannot be told from the best, and costs grow as much as it says.
    #[must_use]
    pub fn is_expected(&self) -> bool {
        let Some((law, growth)) = self.expected.zip(self.expected_growth()) else {
            return false;
        };
        let fits = self.best.law == law || self.others.contains(&law);
        let apart = (self.growth / growth).ln().abs();
        // Twice the uncertainty of a ratio of two costs.
        let uncertain = 2.0 * std::f64::consts::SQRT_2 * self.noise;
        self.is_certain() && fits && apart <= uncertain.max(GROWS_AS.ln())
    }

    /// Whether any law fits.
    #[must_use]
    pub fn is_lawful(&self) -> bool {
        self.best.residual <= FITS.ln()
    }

    /// The case in words.
    #[must_use]
    pub fn case(&self) -> String {
        self.chunk.map_or_else(
            || "blocked".to_owned(),
            |bytes| format!("chunks of {}", size(bytes)),
        )
    }

    /// How costs grow, and how they do as published.
    fn course(&self, expected: f64) -> String {
        let ([fewest, most], growth) = (self.range, self.growth);
        let what = match (growth >= 1.0, expected >= 1.0) {
            (true, true) if growth > expected => "grow faster than published, ",
            (true, true) => "grow more slowly than published, ",
            (false, false) if growth > expected => "fall more slowly than published, ",
            (false, false) => "fall faster than published, ",
            (true, false) => "grow, and would fall as published: ",
            (false, true) => "fall, and would grow as published: ",
        };
        format!(
            "from n = {fewest} to {most} costs {what}{} times instead of {}",
            far(growth.max(1.0 / growth)),
            far(expected.max(1.0 / expected))
        )
    }

    /// What is found, and where it is not what is expected, why that may be.
    #[must_use]
    pub fn sentence(&self, protocol: Option<&str>) -> String {
        let case = self.case();
        let published = self.expected.zip(self.expected_growth());
        if !self.is_certain() {
            let why = match self.points < TOLD_POINTS {
                true => format!("{} values of n are too few", self.points),
                false => format!(
                    "costs are uncertain by a factor of {}, too much",
                    far(self.noise.exp())
                ),
            };
            let found = format!("{case}: {why} to tell which law costs follow");
            return match published {
                None => format!("{found}."),
                Some((law, growth)) => {
                    let (name, course) = (law.name(), self.course(growth));
                    format!("{found}; {name} is published, and {course}.")
                }
            };
        }
        if !self.is_lawful() {
            return format!(
                "{case}: none of the laws fits, the best, {}, by a factor of {} on the average; {}.",
                self.best.law.name(),
                far(self.best.residual.exp()),
                match self.expected {
                    Some(law) => format!("{} is published", law.name()),
                    None => NO_LAW.to_owned(),
                }
            );
        }
        let also = match self.others.as_slice() {
            [] => String::new(),
            others => {
                let names: Vec<&str> = others.iter().map(|law| law.name()).collect();
                format!(" (or {})", names.join(" or "))
            }
        };
        let found = format!("{case}: {}{also}", self.best.law.name());
        if self.is_expected() {
            return format!("{found}, as published.");
        }
        let Some((law, growth)) = published else {
            return format!("{found}; {NO_LAW}.");
        };
        let faster = self.growth > growth;
        let why = match (protocol, law) {
            (Some("homeless"), Law::Linear) if !faster => {
                " Changes are asked of all writers of a page at once, so that these requests overlap; the published system waits for one after the other."
            }
            (Some("home"), Law::Others) if faster => {
                " Each page's home gets diffs from all others and answers all fetches: where nodes wait for each other there, costs grow with n."
            }
            (Some(_), _) => {
                " That law counts pages alone: notices that all nodes hear of, nodes that are asked by several at once, and barriers are not part of it."
            }
            (None, _) => {
                " Threads that share a cache, or a processor, see less of it than the caches of a machine with one processor each."
            }
        };
        let (expected, course) = (law.name(), self.course(growth));
        match self.best.law == law {
            true => format!("{case}: nearest to {expected}, but {course}.{why}"),
            false => format!("{found}; {expected} is published: {course}.{why}"),
        }
    }
}

/// What is said where the paper has no law.
const NO_LAW: &str = "nothing is published of chunks of which a page has fewer than there are nodes, and more than one";

/// Whether up to `most` nodes all write each page, or one does: otherwise nothing is published.
fn all_write(protocol: Option<&str>, chunk: Option<u64>, most: f64) -> bool {
    let parts = chunk.map_or(1, |bytes| PAGE / bytes.max(1));
    protocol.is_none() || parts <= 1 || most <= parts as f64
}

fn far(factor: f64) -> String {
    match factor < 1e4 {
        true => format!("{factor:.1}"),
        false => format!("{factor:.0e}"),
    }
}

/// The unit in which memory is kept consistent, as costs show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CoherenceUnit {
    /// The column that measured it.
    pub column: usize,
    /// Threads.
    pub threads: u32,
    /// The largest chunk that costs much more; none if all cost little.
    pub above: Option<u64>,
    /// The smallest chunk that costs little: the unit is at most this.
    pub at_most: u64,
}

impl CoherenceUnit {
    /// As a sentence.
    #[must_use]
    pub fn sentence(&self, protocol: Option<&str>) -> String {
        let what = match protocol {
            Some(_) => "a page on nodes",
            None => "a cache line on threads",
        };
        match self.above {
            Some(above) => format!(
                "The unit of coherence is {} or less, and more than {}: from there on chunks cost little ({what}).",
                size(self.at_most),
                size(above)
            ),
            None => format!(
                "All chunks cost about the same, so the unit of coherence is not seen: it is {} or less, or sharing costs too little here.",
                size(self.at_most)
            ),
        }
    }
}

/// Costs by chunk, ascending, at one number of threads.
pub(super) fn unit_of(costs: &[(u64, f64)]) -> Option<(Option<u64>, u64)> {
    let (_, least) = costs.last().filter(|(_, cost)| *cost > 0.0)?;
    let dear = |cost: f64| cost > LITTLE * least;
    let last_dear = costs.iter().rposition(|(_, cost)| dear(*cost));
    let first = last_dear.map_or(0, |at| at + 1);
    let above = last_dear.map(|at| costs[at].0);
    Some((above, costs.get(first)?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_named_by_what_they_follow() {
        for law in Law::ALL {
            let noise = [1.02, 0.97, 1.01, 1.0];
            let counts = [2.0, 4.0, 8.0, 16.0].into_iter().zip(noise);
            let curve: Vec<(f64, f64)> = counts
                .map(|(n, noise)| (n, 7.0 * noise * law.at(n)))
                .collect();
            let found = fits(&curve);
            assert_eq!(found[0].law, law);
            assert!((found[0].factor / 7.0 - 1.0).abs() < 0.05);
        }
        assert!(fits(&[(1.0, 5.0), (2.0, 4.0), (4.0, 3.0)]).is_empty());
        assert!(fits(&[(2.0, -5.0), (4.0, 4.0), (8.0, f64::NAN)]).is_empty());
    }

    /// The table under `tests/published`: which law is stated of which curve.
    #[test]
    fn what_is_expected_is_what_is_published() {
        let table = include_str!("../../tests/published/mcbench_figures.csv");
        let mut checked = 0;
        for line in table.lines().filter(|line| !line.starts_with(['#', 'f'])) {
            let fields: Vec<&str> = line.split(',').collect();
            let protocol = match fields[1] {
                "CLOMP" => Some("homeless"),
                "SCLIB" => Some("home"),
                _ => None,
            };
            let chunk = match fields[6] {
                "blocked" => None,
                "16 and 32" => Some(16),
                "64 and above to blocked" => Some(64),
                number => match number.parse() {
                    Ok(bytes) => Some(bytes),
                    Err(_) => continue,
                },
            };
            let law = fields[7].trim_end_matches(" roughly");
            if !law.starts_with('O') {
                continue;
            }
            assert_eq!(Law::expected(protocol, chunk).name(), law, "{line}");
            checked += 1;
        }
        assert_eq!(checked, 9);
    }

    #[test]
    fn the_unit_is_where_costs_drop() {
        let threads = [
            (4, 900.0),
            (16, 800.0),
            (32, 600.0),
            (64, 110.0),
            (4096, 100.0),
        ];
        assert_eq!(unit_of(&threads), Some((Some(32), 64)));
        let nodes = [(4, 9e6), (64, 9e6), (2048, 7e6), (4096, 1e6), (8192, 9e5)];
        assert_eq!(unit_of(&nodes), Some((Some(2048), 4096)));
        assert_eq!(unit_of(&[(4, 10.0), (64, 9.0)]), Some((None, 4)));
        assert_eq!(unit_of(&[(4, 10.0), (64, -1.0)]), None);
        assert_eq!(unit_of(&[]), None);
    }

    /// A curve under a protocol, and chunks of 4 bytes.
    fn said(protocol: &str, costs: &[(f64, f64)], noise: f64) -> String {
        let curve: Vec<_> = costs.iter().map(|(n, cost)| (*n, *cost, noise)).collect();
        let found = LawFinding::of(0, Some(protocol), Some(4), &curve).unwrap();
        found.sentence(Some(protocol))
    }

    #[test]
    fn sentences_say_what_differs_and_why() {
        let as_law = |law: Law| [2.0, 4.0, 8.0, 20.0].map(|n| (n, law.at(n)));
        let others = as_law(Law::Others);
        assert_eq!(
            said("home", &others, 0.0),
            "chunks of 4 B: O((n-1)/n), as published."
        );
        let other = said("homeless", &others, 0.0);
        assert!(
            other.contains("O(n) is published: from n = 2 to 20 costs grow more slowly than published, 1.9 times instead of 10.0. Changes are asked of all writers"),
            "{other}"
        );
        let wild = [(2.0, 1.0), (4.0, 90.0), (8.0, 1.0), (20.0, 90.0)];
        assert!(said("home", &wild, 0.0).contains("none of the laws fits"));
    }

    /// The law that fits best need not be followed.
    #[test]
    fn costs_that_grow_otherwise_are_not_as_published() {
        let faster = [(2.0, 31.3), (4.0, 52.0), (8.0, 86.3), (20.0, 139.0)];
        let found = said("home", &faster, 0.0);
        assert!(
            found.contains(
                "costs grow faster than published, 4.4 times instead of 1.9. Each page's home"
            ),
            "{found}"
        );
        let rising = [(2.0, 11.7), (3.0, 12.0), (4.0, 12.3), (5.0, 12.5)];
        let curve = rising.map(|(n, cost)| (n, cost, 0.0));
        let found = LawFinding::of(0, Some("home"), None, &curve).unwrap();
        let found = found.sentence(Some("home"));
        assert!(
            found.contains("costs grow, and would fall as published: 1.1 times instead of 1.6"),
            "{found}"
        );
        assert!(!found.contains("as published."), "{found}");
    }

    /// The same growth is one or the other by how certain costs are.
    #[test]
    fn how_much_costs_may_grow_beside_a_law_follows_from_their_noise() {
        let faster = [2.0, 3.0, 4.0, 8.0].map(|n: f64| (n, Law::Others.at(n) * n.powf(0.25)));
        let certain = said("home", &faster, 0.01);
        assert!(
            certain.contains("grow faster than published, 2.5 times instead of 1.8"),
            "{certain}"
        );
        let uncertain = said("home", &faster, 0.15);
        assert!(uncertain.ends_with("as published."), "{uncertain}");
    }

    /// Chunks of 2 KiB: two nodes write a page, however many there are.
    #[test]
    fn of_chunks_between_the_published_ones_nothing_is_expected() {
        let curve = [2.0, 4.0, 8.0, 16.0].map(|n| (n, Law::OthersShare.at(n), 0.0));
        let found = LawFinding::of(0, Some("homeless"), Some(2048), &curve).unwrap();
        let found = found.sentence(Some("homeless"));
        assert!(
            found.contains("O((n-1)/n^2); nothing is published"),
            "{found}"
        );
        let small = LawFinding::of(0, Some("homeless"), Some(256), &curve).unwrap();
        assert_eq!(small.expected, Some(Law::Linear));
    }

    #[test]
    fn few_or_uncertain_costs_are_no_law() {
        let three = [2.0, 3.0, 4.0].map(|n| (n, Law::Others.at(n)));
        let few = said("home", &three, 0.0);
        assert!(few.contains("3 values of n are too few to tell"), "{few}");
        let four = [2.0, 3.0, 4.0, 8.0].map(|n| (n, Law::Others.at(n)));
        let noisy = said("home", &four, 0.5);
        assert!(noisy.contains("uncertain by a factor of 1.6"), "{noisy}");
        for sentence in [few, noisy] {
            assert!(!sentence.contains("as published."), "{sentence}");
        }
    }
}
