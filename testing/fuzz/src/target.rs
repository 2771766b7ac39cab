//! What is fuzzed: a reader, inputs that it accepts, and how these are changed.

use crate::random::Random;
use crate::{blocks, json, mutate};
use fathomp_types::text::one_line;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How inputs of a format are changed, so that most of them are read further than their
/// first bytes.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Any bytes.
    Bytes,
    /// Words of 64 bits.
    Words,
    /// Text.
    Text,
    /// A JSON document.
    Json,
    /// A JSON document in each line.
    JsonLines,
    /// A file of blocks with checksums.
    Blocks,
    /// A program or library (ELF).
    Elf,
    /// Bytes with something, such as a checksum, that this function puts right.
    Sealed(fn(&mut [u8])),
}

/// A reader that is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is read, and who writes it.
    pub what: &'static str,
    /// How its inputs are changed.
    pub shape: Shape,
    /// Inputs that are as they should be, made by the project's own writers or compilers.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads; panics if something that is promised does not hold.
    pub read: fn(&[u8]) -> Said,
}

/// What a reader said of an input, as a number. An input about which something new is said
/// is changed further, as other fuzzers do with inputs that reach new code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Said {
    what: u64,
    refused: bool,
}

impl Said {
    /// The input was read, and that is in it: counts, kinds.
    #[must_use]
    pub fn read(what: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self {
            what: hasher.finish(),
            refused: false,
        }
    }

    /// The input was refused. An error has to be one sentence.
    ///
    /// # Panics
    /// If it is not.
    #[must_use]
    pub fn refused(error: &impl Display) -> Self {
        let sentence = error.to_string();
        check_sentence(&sentence);
        // What the sentence quotes differs from input to input.
        let letters = sentence.chars().filter(|letter| letter.is_alphabetic());
        let first: String = letters.clone().take(24).collect();
        Self {
            refused: true,
            ..Self::read((about(letters.count()), first))
        }
    }

    /// Whether the input was refused.
    #[must_use]
    pub fn is_refused(self) -> bool {
        self.refused
    }

    /// What several readers said of one input.
    #[must_use]
    pub fn all<const COUNT: usize>(said: [Self; COUNT]) -> Self {
        Self {
            refused: said.iter().all(|one| one.refused),
            ..Self::read(said)
        }
    }
}

/// A number that stands for all of about its size, for [`Said::read`]: inputs that differ
/// only in how much of something they have are no news.
#[must_use]
pub fn about(number: usize) -> u32 {
    number.checked_ilog2().map_or(0, |log| log + 1)
}

/// What a user is told says something. It may hold whatever the input holds; that it is one
/// line is the matter of what shows it ([`fathomp_types::text::one_line`]).
///
/// # Panics
/// If nothing is left of the sentence where it is shown.
pub fn check_sentence(sentence: &str) {
    let shown = one_line(sentence);
    let words = shown.split_whitespace().filter(|word| *word != "\u{fffd}");
    assert!(words.count() > 2, "no sentence: {shown:?}");
}

impl Target {
    /// Changes an input in one to eight places.
    pub fn change(&self, input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
        let times = 1 + random.length(8);
        for _ in 0..times {
            match self.shape {
                Shape::Bytes | Shape::Sealed(_) => mutate::bytes(input, others, random),
                Shape::Elf => mutate::elf(input, others, random),
                Shape::Words => mutate::words(input, others, random),
                Shape::Text => mutate::text(input, others, random),
                Shape::Json => json::document(input, others, random),
                Shape::JsonLines => json::lines(input, others, random),
                Shape::Blocks => blocks::file(input, others, random),
            }
        }
        if let Shape::Sealed(seal) = self.shape
            && !random.once_in(16)
        {
            seal(input);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_told_apart() {
        assert_ne!(Said::read(1), Said::read(2));
        assert_eq!(
            Said::refused(&"line 3 is bad"),
            Said::refused(&"line 71 is bad")
        );
        assert_ne!(
            Said::refused(&"line 3 is bad"),
            Said::refused(&"it is no table")
        );
        assert_eq!(about(0), 0);
        assert_eq!((about(4), about(7), about(8)), (3, 3, 4));
    }

    #[test]
    #[should_panic(expected = "no sentence")]
    fn errors_are_sentences() {
        let _ = Said::refused(&"bad \u{1}");
    }
}
