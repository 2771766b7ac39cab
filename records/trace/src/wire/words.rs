//! Values that regions were begun with, and what dry runs found with them.

use super::{Body, DRY, DRY_WORDS, Malformed, SET_VALUES_MAX, WORDS, high};
use crate::record::{DryRun, WordSet};
use fathomp_regions::{DryLoop, LoopId};
use fathomp_ring::Sink;
use fathomp_types::SiteId;

/// Writes a set of values; those that `known` has no bit of take no space.
pub(crate) fn write_words(
    sink: &mut impl Sink,
    site: SiteId,
    set: u64,
    known: u64,
    values: &[i64],
) {
    let values = &values[..values.len().min(SET_VALUES_MAX)];
    let count = values.len() as u64;
    let beyond = if count < 64 { u64::MAX << count } else { 0 };
    let known = known & !beyond;
    let length = 3 + u64::from(known.count_ones());
    sink.put(WORDS | length << 8 | count << 16 | u64::from(site.0) << 32);
    sink.put(set);
    sink.put(known);
    for (number, value) in values.iter().enumerate() {
        if known >> number & 1 != 0 {
            sink.put(*value as u64);
        }
    }
}

/// Writes what a dry run found of a loop.
pub(crate) fn write_dry(sink: &mut impl Sink, set: u64, found: &DryLoop) {
    let length = DRY_WORDS as u64;
    sink.put(DRY | length << 8 | u64::from(found.exact) << 16 | u64::from(found.id.0) << 32);
    sink.put(set);
    sink.put(found.entries.to_bits());
    sink.put(found.iterations.to_bits());
}

impl Body<'_> {
    pub(super) fn dry(&self) -> Result<DryRun, Malformed> {
        Ok(DryRun {
            set: self.at(0)?,
            found: DryLoop {
                id: LoopId(high(self.first)),
                entries: self.count(1)?,
                iterations: self.count(2)?,
                exact: self.first >> 16 & 1 != 0,
            },
        })
    }

    /// A number that may be a fraction, but not negative nor none.
    fn count(&self, index: usize) -> Result<f64, Malformed> {
        let count = f64::from_bits(self.at(index)?);
        Some(count)
            .filter(|count| count.is_finite() && *count >= 0.0)
            .ok_or(Malformed)
    }

    pub(super) fn words(&self) -> Result<WordSet, Malformed> {
        let count = (self.first >> 16 & 0xff) as usize;
        if count > SET_VALUES_MAX {
            return Err(Malformed);
        }
        let known = self.at(1)?;
        let mut words = self.rest.iter().skip(2).copied();
        let values = (0..count).map(|number| {
            let value = || words.next().map(|word| word as i64).ok_or(Malformed);
            (known >> number & 1 != 0).then(value).transpose()
        });
        Ok(WordSet {
            set: self.at(0)?,
            site: SiteId(high(self.first)),
            values: values.collect::<Result<_, _>>()?,
            dry: Vec::new(),
        })
    }
}
