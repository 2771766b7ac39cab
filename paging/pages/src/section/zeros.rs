//! Counts over time in as few bytes as the script needs.

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

/// Counts, of which runs of zeros are their length with a minus.
#[derive(Debug, Default)]
pub(super) struct Zeros(Vec<u64>);

impl Zeros {
    pub(super) fn new(counts: Vec<u64>) -> Self {
        Self(counts)
    }
}

impl Serialize for Zeros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut zeros = 0_i64;
        for count in &self.0 {
            if *count == 0 {
                zeros += 1;
                continue;
            }
            if zeros > 0 {
                list.serialize_element(&-zeros)?;
                zeros = 0;
            }
            list.serialize_element(count)?;
        }
        if zeros > 0 {
            list.serialize_element(&-zeros)?;
        }
        list.end()
    }
}
