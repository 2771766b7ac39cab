//! The notation of recorded parts: `4_16`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// So many tasks recorded of so many.
///
/// Written `n_m`, as Wang and Marinescu (1995) write of runs in which n of m nodes
/// were profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    recorded: u64,
    of: u64,
}

impl Part {
    /// `recorded` of `of` tasks; `None` if those are more than there are.
    #[must_use]
    pub const fn new(recorded: u64, of: u64) -> Option<Self> {
        if recorded > of {
            return None;
        }
        Some(Self { recorded, of })
    }

    /// Tasks that were recorded.
    #[must_use]
    pub const fn recorded(self) -> u64 {
        self.recorded
    }

    /// Tasks that there were.
    #[must_use]
    pub const fn of(self) -> u64 {
        self.of
    }

    /// Whether all were recorded.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.recorded == self.of
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.recorded, self.of)
    }
}

/// Text names no part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no part of a run; write how many tasks of how many, such as 4_16")]
pub struct NoPart(pub String);

impl FromStr for Part {
    type Err = NoPart;

    fn from_str(text: &str) -> Result<Self, NoPart> {
        let numbers = text.split_once('_').and_then(|(recorded, of)| {
            let number = |text: &str| {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                digits.then(|| text.parse().ok()).flatten()
            };
            Self::new(number(recorded)?, number(of)?)
        });
        numbers.ok_or_else(|| NoPart(text.to_owned()))
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_written_as_in_the_published_tables() {
        let part = Part::new(4, 16).unwrap();
        assert_eq!(part.to_string(), "4_16");
        assert_eq!("4_16".parse(), Ok(part));
        assert_eq!(serde_json::to_string(&part).unwrap(), r#""4_16""#);
        assert_eq!(serde_json::from_str::<Part>(r#""4_16""#).unwrap(), part);
        assert!(Part::new(64, 64).unwrap().is_whole());
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "", "4", "4_", "_16", "4_16_2", "17_16", "-1_4", "+1_4", "4/16",
        ] {
            let refused = text.parse::<Part>().unwrap_err();
            assert!(refused.to_string().contains("such as 4_16"), "{text}");
        }
    }
}
