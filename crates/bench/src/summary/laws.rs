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
/// A fit off by more than this factor, on the average, is none.
const FITS: f64 = 1.5;
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
    /// What the paper expects.
    pub expected: Law,
}

impl LawFinding {
    /// What a curve of (n, cost) follows; none of too few points.
    pub(super) fn of(
        column: usize,
        protocol: Option<&str>,
        chunk: Option<u64>,
        curve: &[(f64, f64)],
    ) -> Option<Self> {
        let fits = fits(curve);
        let best = *fits.first()?;
        let near = best.residual.max(0.02) * AS_GOOD;
        let others = fits.iter().skip(1).filter(|fit| fit.residual <= near);
        Some(Self {
            column,
            chunk,
            best,
            others: others.map(|fit| fit.law).collect(),
            expected: Law::expected(protocol, chunk),
        })
    }

    /// Whether the expected law is the best or cannot be told from it.
    #[must_use]
    pub fn is_expected(&self) -> bool {
        self.best.law == self.expected || self.others.contains(&self.expected)
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

    /// What is found, and where it is not what is expected, why that may be.
    #[must_use]
    pub fn sentence(&self, protocol: Option<&str>) -> String {
        let case = self.case();
        if !self.is_lawful() {
            return format!(
                "{case}: none of the laws fits, the best, {}, by a factor of {} on the average; {} is expected.",
                self.best.law.name(),
                far(self.best.residual.exp()),
                self.expected.name()
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
        let why = match (protocol, self.expected) {
            (Some("homeless"), Law::Linear) => {
                " Changes are asked of all writers of a page at once, so that these requests overlap; the published system waits for one after the other."
            }
            (Some("home"), Law::Others) => {
                " Each page's home gets diffs from all others and answers all fetches: where nodes wait for each other there, costs grow with n."
            }
            (Some("homeless"), Law::Share) => {
                " Until a page comes back to a node, each of the others has changed it, and all these changes are fetched; the published law counts a page once."
            }
            (Some(_), _) => {
                " That law counts pages alone: notices that all nodes hear of, nodes that are asked by several at once, and barriers are not part of it."
            }
            (None, _) => {
                " Threads that share a cache, or a processor, see less of it than the caches of a machine with one processor each."
            }
        };
        format!("{found}; {} is published.{why}", self.expected.name())
    }
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

    #[test]
    fn sentences_say_what_differs_and_why() {
        let finding = |law, expected| LawFinding {
            column: 0,
            chunk: Some(4),
            best: Fit {
                law,
                factor: 1.0,
                residual: 0.1,
            },
            others: Vec::new(),
            expected,
        };
        let as_published = finding(Law::Others, Law::Others).sentence(Some("home"));
        assert_eq!(as_published, "chunks of 4 B: O((n-1)/n), as published.");
        let other = finding(Law::Others, Law::Linear).sentence(Some("homeless"));
        assert!(
            other.contains("O(n) is published. Changes are asked of all writers"),
            "{other}"
        );
        let mut wild = finding(Law::Others, Law::Linear);
        wild.best.residual = 1.0;
        assert!(wild.sentence(None).contains("none of the laws fits"));
    }
}
