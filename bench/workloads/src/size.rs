//! How large a problem is.

use std::fmt;
use std::str::FromStr;

/// A class of the NAS Parallel Benchmarks, from the smallest to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Sample: ends at once.
    S,
    /// Workstation.
    W,
    /// The first of the classes for machines.
    A,
    /// Four to sixteen times A.
    B,
    /// Four to sixteen times B.
    C,
}

impl Class {
    /// All, smallest first.
    pub const ALL: [Self; 5] = [Self::S, Self::W, Self::A, Self::B, Self::C];

    /// The data set of about the same rank in suites that have data sets
    /// instead of classes.
    #[must_use]
    pub fn data_set(self) -> &'static str {
        match self {
            Self::S => "mini",
            Self::W => "small",
            Self::A => "medium",
            Self::B => "large",
            Self::C => "extralarge",
        }
    }

    /// Its letter.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::W => "W",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letter())
    }
}

/// The text names no class.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "there is no class \"{0}\": the classes are S, W, A, B and C, from the smallest to the largest"
)]
pub struct UnknownClass(String);

impl FromStr for Class {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        Self::ALL
            .into_iter()
            .find(|class| class.letter().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownClass(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_either_case() {
        for class in Class::ALL {
            assert_eq!(class.letter().parse(), Ok(class));
            assert_eq!(class.letter().to_lowercase().parse(), Ok(class));
        }
        assert!("D".parse::<Class>().is_err());
        assert!("".parse::<Class>().is_err());
    }
}
