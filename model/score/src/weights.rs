//! What operations and accesses weigh.

use serde::{Deserialize, Serialize};

/// Relative latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Where the numbers come from, in words.
    pub source: String,
    /// A sum, difference or comparison.
    pub addition: f64,
    /// A product.
    pub multiplication: f64,
    /// A quotient, remainder or root.
    pub division: f64,
    /// A call.
    pub call: f64,
    /// An access that hits.
    pub hit: f64,
    /// A read that misses.
    pub read_miss: Pattern,
    /// A write that misses.
    pub write_miss: Pattern,
}

/// Weights of a miss by its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// Neighbours one after the other.
    pub streaming: f64,
    /// A distance apart.
    pub latency: f64,
}

/// Why a file holds no weights.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// Not JSON, or not of this shape.
    #[error(
        "these are no weights of the static score: {0}; begin with the weights that `fathomp scan --score --json` shows"
    )]
    Parse(#[from] serde_json::Error),
    /// A number that is none, or negative.
    #[error("the weight `{name}` is {value}: give a number that is 0 or more")]
    Value {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
    },
}

/// The weights that are assumed, as a file.
pub(crate) const DEFAULT: &str = include_str!("weights.json");

/// A name, and where it stands.
type Named = (&'static str, fn(&mut Weights) -> &mut f64);

impl Weights {
    /// All weights by name.
    pub(crate) const ALL: [Named; 9] = [
        ("addition", |weights| &mut weights.addition),
        ("multiplication", |weights| &mut weights.multiplication),
        ("division", |weights| &mut weights.division),
        ("call", |weights| &mut weights.call),
        ("hit", |weights| &mut weights.hit),
        ("read_miss.streaming", |weights| {
            &mut weights.read_miss.streaming
        }),
        ("read_miss.latency", |weights| {
            &mut weights.read_miss.latency
        }),
        ("write_miss.streaming", |weights| {
            &mut weights.write_miss.streaming
        }),
        ("write_miss.latency", |weights| {
            &mut weights.write_miss.latency
        }),
    ];

    /// Reads a file of weights.
    ///
    /// # Errors
    /// See [`WeightsError`].
    pub fn from_json(text: &str) -> Result<Self, WeightsError> {
        let mut weights: Self = serde_json::from_str(text)?;
        for (name, field) in Self::ALL {
            let value = *field(&mut weights);
            if !value.is_finite() || value < 0.0 {
                return Err(WeightsError::Value { name, value });
            }
        }
        Ok(weights)
    }

    /// The assumed weights as the text of a file, to begin one's own with.
    #[must_use]
    pub fn default_file() -> &'static str {
        DEFAULT
    }
}

impl Default for Weights {
    /// Those of the file `weights.json` beside this source, which says what is assumed.
    fn default() -> Self {
        Self::from_json(DEFAULT).unwrap_or(Self {
            source: String::new(),
            addition: 1.0,
            multiplication: 1.0,
            division: 1.0,
            call: 1.0,
            hit: 1.0,
            read_miss: Pattern {
                streaming: 1.0,
                latency: 1.0,
            },
            write_miss: Pattern {
                streaming: 1.0,
                latency: 1.0,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_file() {
        let weights = Weights::default();
        assert!(weights.source.starts_with("ASSUMED"));
        assert_eq!(weights.addition, 3.0);
        assert!(weights.read_miss.latency < weights.read_miss.streaming);
    }

    #[test]
    fn senseless_weights_are_refused() {
        let negative = DEFAULT.replace("\"hit\": 3", "\"hit\": -3");
        let error = Weights::from_json(&negative).unwrap_err();
        assert!(error.to_string().contains("`hit` is -3"));
        assert!(Weights::from_json("[]").is_err());
        assert!(Weights::from_json(&DEFAULT.replace("\"call\"", "\"cull\"")).is_err());
    }
}
