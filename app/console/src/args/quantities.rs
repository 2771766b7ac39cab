//! Lengths of time and sizes of memory, with their units.

use fathomp_types::units::{parse_duration, split};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How often something is looked at, such as `1ms`; from 100 us to an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleInterval(pub Duration);

/// The text is no interval.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IntervalError {
    /// It has no number or no unit.
    #[error("\"{0}\" is no length of time: write it like 500us, 1ms or 2s")]
    NotATime(String),
    /// Nothing else would be done.
    #[error("a sampler that looks every {0} never rests: give at least 100us, such as 1ms")]
    TooShort(String),
    /// Nothing would be seen.
    #[error("a sampler that looks every {0} sees nothing: give at most an hour, such as 1s")]
    TooLong(String),
    /// No page takes so long, or so short.
    #[error(
        "{0} is no time that a task waits for a page: give more than 0 and at most 1min, such as 50us"
    )]
    NoWait(String),
}

impl SampleInterval {
    const MIN: Duration = Duration::from_micros(100);
    const MAX: Duration = Duration::from_secs(3600);
    /// No sampling, which is an interval of 0.
    pub const NEVER: &str = "never";
}

/// A length of time with its unit.
fn duration(text: &str) -> Result<Duration, IntervalError> {
    parse_duration(text).ok_or_else(|| IntervalError::NotATime(text.to_owned()))
}

/// A length of time.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(pub Duration);

/// The text is no number of seconds.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("\"{0}\" is not a number of seconds: give one from 0.001 to 1000000")]
pub struct SecondsError(String);

impl FromStr for Seconds {
    type Err = SecondsError;

    fn from_str(text: &str) -> Result<Self, SecondsError> {
        text.parse()
            .ok()
            .filter(|seconds| (0.001..=1e6).contains(seconds))
            .map(|seconds| Self(Duration::from_secs_f64(seconds)))
            .ok_or_else(|| SecondsError(text.to_owned()))
    }
}

/// How long a task waits for a page, such as `50us`; more than nothing, at most a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTime(pub Duration);

impl FromStr for WaitTime {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Self, IntervalError> {
        let text = text.trim();
        let time = duration(text)?;
        if time.is_zero() || time > Duration::from_secs(60) {
            return Err(IntervalError::NoWait(text.to_owned()));
        }
        Ok(Self(time))
    }
}

impl FromStr for SampleInterval {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Self, IntervalError> {
        let text = text.trim();
        if text == Self::NEVER {
            return Ok(Self(Duration::ZERO));
        }
        let time = duration(text)?;
        if time < Self::MIN {
            return Err(IntervalError::TooShort(text.to_owned()));
        }
        if time > Self::MAX {
            return Err(IntervalError::TooLong(text.to_owned()));
        }
        Ok(Self(time))
    }
}

/// Limits of memory in bytes, largest first, each once, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryList(pub Vec<u64>);

/// The text is no list of sizes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MemoryError {
    /// It has no number or no unit.
    #[error("\"{0}\" is no size of memory: write it like 512M or 2G")]
    NotASize(String),
    /// Nothing runs in so little.
    #[error("no program runs in {0}: give at least 4M")]
    TooSmall(String),
    /// It names more sizes than anybody waits for.
    #[error("the list has more than 32 sizes: name fewer")]
    TooLong,
}

impl MemoryList {
    const BYTES_MIN: u64 = 4 << 20;
    const LONGEST: usize = 32;
}

impl FromStr for MemoryList {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, MemoryError> {
        let mut sizes = Vec::new();
        for part in text.split(',').map(str::trim) {
            let bytes = size(part).ok_or_else(|| MemoryError::NotASize(part.to_owned()))?;
            if bytes < Self::BYTES_MIN {
                return Err(MemoryError::TooSmall(part.to_owned()));
            }
            sizes.push(bytes);
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.dedup();
        match sizes.len() > Self::LONGEST {
            true => Err(MemoryError::TooLong),
            false => Ok(Self(sizes)),
        }
    }
}

/// Bytes that a text such as `512M`, `1.5GiB` or `1048576` stands for.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" | "kb" => 10,
        "m" | "mib" | "mb" => 20,
        "g" | "gib" | "gb" => 30,
        "t" | "tib" | "tb" => 40,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * (1_u64 << shift) as f64;
    (0.0..1e18).contains(&bytes).then_some(bytes as u64)
}

/// Shows bytes as people write limits: `512M`, `1.5G`.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
        let Some((shift, letter)) = units.into_iter().find(|(shift, _)| self.0 >> shift > 0) else {
            return write!(f, "{}", self.0);
        };
        let value = self.0 as f64 / (1_u64 << shift) as f64;
        match value {
            value if value.fract() == 0.0 || value >= 100.0 => write!(f, "{value:.0}{letter}"),
            value => write!(f, "{value:.1}{letter}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_units_and_bounds() {
        let parsed = |text: &str| text.parse::<SampleInterval>().map(|interval| interval.0);
        assert_eq!(parsed("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(parsed("0.5 ms"), Ok(Duration::from_micros(500)));
        assert_eq!(parsed("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parsed("never"), Ok(Duration::ZERO));
        for text in ["0", "0ms", "10us", "1ns"] {
            let said = parsed(text).unwrap_err().to_string();
            assert!(said.contains("at least 100us"), "{said}");
        }
        assert!(matches!(parsed("90min"), Err(IntervalError::TooLong(_))));
        for text in ["", "ms", "1", "-1ms", "1 parsec", "1e999s", "nan", "."] {
            assert!(
                matches!(parsed(text), Err(IntervalError::NotATime(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn memory_lists_are_sorted_and_each_size_counts_once() {
        let parsed = |text: &str| text.parse::<MemoryList>().map(|list| list.0);
        assert_eq!(parsed("256M, 1g,256MiB"), Ok(vec![1 << 30, 256 << 20]));
        assert_eq!(
            parsed("1.5M,8388608"),
            Err(MemoryError::TooSmall("1.5M".to_owned()))
        );
        for text in ["", "M", "512", "x", "-5M", "1M1M", ",", "1e30G"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_as_they_are_written() {
        for (bytes, text) in [
            (512 << 20, "512M"),
            (3 << 29, "1.5G"),
            (100, "100"),
            (1 << 40, "1T"),
            ((512 << 20) + 1, "512M"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
