//! Sizes of memory and files, as people write and read them.

use crate::units::split;
use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A number of bytes, written like `512M`, `1.5GiB` or `4096`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// Units are powers of two, with and without `iB` or `B` behind their letter.
const UNITS: [(u32, char); 4] = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];

/// The text is no size that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeError {
    /// It has no number, or no unit that there is.
    NotASize(String),
    /// It is less or more than is possible.
    OutOfRange(String, RangeInclusive<u64>),
}

impl Size {
    /// Whole MiB in it.
    #[must_use]
    pub fn mib(self) -> u32 {
        u32::try_from(self.0 >> 20).unwrap_or(u32::MAX)
    }

    /// Reads a size within a range of bytes.
    ///
    /// # Errors
    /// If the text is no size, or one outside.
    pub fn within(text: &str, bytes: RangeInclusive<u64>) -> Result<Self, SizeError> {
        let size: Self = text.parse()?;
        match bytes.contains(&size.0) {
            true => Ok(size),
            false => Err(SizeError::OutOfRange(text.to_owned(), bytes)),
        }
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let bytes = || {
            let (number, unit) = split(text.trim());
            let unit = unit.to_ascii_uppercase();
            let letter = unit.trim_end_matches('B').trim_end_matches('I');
            let shift = match (letter, unit.as_str()) {
                ("", "" | "B") => 0,
                _ => UNITS.iter().find(|(_, name)| letter.chars().eq([*name]))?.0,
            };
            let bytes = number.parse::<f64>().ok()? * (1_u64 << shift) as f64;
            (0.0..1e18).contains(&bytes).then_some(bytes as u64)
        };
        let bytes = bytes().ok_or_else(|| SizeError::NotASize(text.to_owned()))?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((shift, letter)) = UNITS.into_iter().find(|(shift, _)| self.0 >> shift > 0) else {
            return write!(f, "{}", self.0);
        };
        let value = self.0 as f64 / (1_u64 << shift) as f64;
        match value {
            value if value.fract() == 0.0 || value >= 100.0 => write!(f, "{value:.0}{letter}"),
            value => write!(f, "{value:.1}{letter}"),
        }
    }
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASize(text) => write!(f, "\"{text}\" is no size: write it like 512M or 2G"),
            Self::OutOfRange(text, bytes) => {
                let (least, most) = (Size(*bytes.start()), Size(*bytes.end()));
                write!(f, "{text} is out of range: give {least} to {most}")
            }
        }
    }
}

impl Error for SizeError {}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn units_are_letters_with_and_without_bytes() {
        for text in [
            "2M",
            "2m",
            "2MB",
            "2 MiB",
            "2mib",
            "2097152",
            "2097152 b",
            "2048kB",
        ] {
            assert_eq!(text.parse(), Ok(Size(2 << 20)), "{text}");
        }
        for text in [
            "", "M", "x", "-5M", "1M1M", ",", "1e30G", "2i", "2KK", "lots",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_outside_its_range_is_refused_with_the_range() {
        assert_eq!(Size::within("1G", 1 << 20..=1 << 30), Ok(Size(1 << 30)));
        let said = Size::within("128", 1 << 20..=1 << 40).unwrap_err();
        assert_eq!(said.to_string(), "128 is out of range: give 1M to 1T");
    }
}
