//! Strings, of which records hold the numbers.

use super::chunks::Field::{Number, Text};
use super::chunks::Record;
use super::kinds::definition;
use std::collections::HashMap;

/// All strings of an archive.
#[derive(Default)]
pub(super) struct Strings {
    numbers: HashMap<String, u64>,
}

impl Strings {
    /// The string's number.
    pub(super) fn number(&mut self, text: &str) -> u64 {
        let next = self.numbers.len() as u64;
        *self.numbers.entry(text.to_owned()).or_insert(next)
    }

    /// Their definitions.
    pub(super) fn records(self) -> Vec<Record> {
        let mut all: Vec<(String, u64)> = self.numbers.into_iter().collect();
        all.sort_by_key(|(_, number)| *number);
        let record = |(text, number): &(String, u64)| {
            Record::new(definition::STRING, &[Number(*number), Text(text)])
        };
        all.iter().map(record).collect()
    }
}
