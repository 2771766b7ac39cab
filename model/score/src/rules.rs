//! What the published text leaves open, each question a switch.

use serde::{Deserialize, Serialize};

/// The machine, as far as the score knows one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Bytes of the largest cache of one package.
    pub cache_bytes: f64,
    /// Packages that the decision is about.
    pub packages: u32,
}

/// Answers to the open questions. The defaults are the readings that the text's examples
/// suggest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// How good and bad become one number.
    pub ratio: Ratio,
    /// Which misses are weighed by the probability that they are misses.
    pub pressure: Pressure,
    /// What becomes of the rest of such an access.
    pub outside: Outside,
    /// Whether the caches of all packages together hold the working set; otherwise the
    /// cache of one.
    pub cache_grows: bool,
    /// What is averaged over statements.
    pub averages: Averages,
    /// Whether a statement counts as often as its loops repeat it.
    pub by_iterations: bool,
    /// Which accesses are left out because others use more dimensions.
    pub ignored: Ignored,
    /// Whether subscripts that are read from memory hit; otherwise they miss, one by one.
    pub irregular_hits: bool,
}

/// How good and bad become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ratio {
    /// `(good - bad) / (good + bad)`, at least 0.
    #[default]
    Difference,
    /// `good / bad`, at most 1: the alternative that the text names.
    Plain,
}

/// Which misses are weighed by `P = max(0, 1 - cache / working set)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pressure {
    /// Every miss.
    #[default]
    Every,
    /// Misses of arrays that come again; those that pass once miss for certain.
    Reused,
}

/// What becomes of the share `1 - P` of a miss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// It is a hit.
    #[default]
    Hit,
    /// It counts for nothing.
    Nothing,
}

/// What is averaged over statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Averages {
    /// Good and bad; the ratio is of the averages.
    #[default]
    GoodAndBad,
    /// The ratio of each statement.
    Scores,
}

/// Which accesses are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ignored {
    /// Those whose subscripts vary in fewer dimensions than another access of the statement.
    #[default]
    InStatement,
    /// The same, of the region.
    InRegion,
    /// Only those that do not vary at all.
    Scalars,
}

impl Rules {
    /// The probability that what would miss does.
    #[must_use]
    pub fn pressure(&self, machine: &Machine, working_set: f64) -> f64 {
        let packages = if self.cache_grows {
            f64::from(machine.packages.max(1))
        } else {
            1.0
        };
        let share = machine.cache_bytes * packages / working_set;
        if share.is_nan() {
            return 1.0;
        }
        (1.0 - share).clamp(0.0, 1.0)
    }
}
