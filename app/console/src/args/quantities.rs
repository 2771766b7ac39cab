//! Lengths of time and sizes of memory, with their units.

use fathomp_launch::DIFF_MEMORY_MIB_MAX;
use fathomp_types::size::{Size, SizeError};
use fathomp_types::units::parse_duration;
use std::ops::RangeInclusive;
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

/// A length of time, such as `90s`; a number by itself is one of seconds.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(pub Duration);

/// The text is no length of time.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("\"{0}\" is no length of time from 1ms to 1000000s: write it like 90s or 10min")]
pub struct SecondsError(String);

impl FromStr for Seconds {
    type Err = SecondsError;

    fn from_str(text: &str) -> Result<Self, SecondsError> {
        let possible = Duration::from_millis(1)..=Duration::from_secs(1_000_000);
        let seconds = text.parse().ok();
        seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .or_else(|| parse_duration(text))
            .filter(|time| possible.contains(time))
            .map(Self)
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

/// A size that a recording may be limited to.
///
/// # Errors
/// If the text is none, or one in which no recording has room.
pub fn recording_size(text: &str) -> Result<Size, SizeError> {
    Size::within(text, 1 << 20..=1 << 40)
}

/// Memory of a node for its diffs.
///
/// # Errors
/// If the text is no size, or one that no node has.
pub fn diff_memory(text: &str) -> Result<Size, SizeError> {
    Size::within(text, 1 << 20..=u64::from(DIFF_MEMORY_MIB_MAX) << 20)
}

/// Limits of memory in bytes, largest first, each once, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryList(pub Vec<u64>);

/// The text is no list of sizes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MemoryError {
    /// One is none, or nothing runs in so little.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// It names more sizes than anybody waits for.
    #[error("the list has more than 32 sizes: name fewer")]
    TooLong,
}

impl MemoryList {
    /// No program runs in less, and none has more.
    const BYTES: RangeInclusive<u64> = 4 << 20..=1 << 50;
    const ENTRIES_MAX: usize = 32;
}

impl FromStr for MemoryList {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, MemoryError> {
        let size = |part: &str| Size::within(part.trim(), Self::BYTES).map(|size| size.0);
        let mut sizes: Vec<u64> = text.split(',').map(size).collect::<Result<_, _>>()?;
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.dedup();
        match sizes.len() > Self::ENTRIES_MAX {
            true => Err(MemoryError::TooLong),
            false => Ok(Self(sizes)),
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
        for text in ["", "512", "1.5M,8388608", "1M1M", ",", "1e30G"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
