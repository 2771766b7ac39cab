//! Counts per bin in few bytes.

/// Counts per bin, packed: a count as twice its value, a run of empty bins as twice its
/// length plus one, each in bytes of seven bits, the lowest first. Empty bins at the end
/// are left out. Of runs with few counts per bin that is a byte per bin that holds any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packed(Box<[u8]>);

impl Packed {
    /// Packs counts; `room` is used meanwhile.
    pub(crate) fn new(counts: &[u64], room: &mut Vec<u8>) -> Self {
        room.clear();
        let mut empty: u64 = 0;
        for &count in counts {
            if count == 0 {
                empty += 1;
                continue;
            }
            if empty > 0 {
                put(room, u128::from(empty) << 1 | 1);
                empty = 0;
            }
            put(room, u128::from(count) << 1);
        }
        Self(room.as_slice().into())
    }

    /// The bins that hold any, with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut bytes = self.0.iter();
        let mut bin = 0usize;
        std::iter::from_fn(move || {
            loop {
                let token = take(&mut bytes)?;
                let value = (token >> 1) as u64;
                if token & 1 == 0 {
                    bin += 1;
                    return Some((bin - 1, value));
                }
                bin += value as usize;
            }
        })
    }

    /// Adds them to `sums`; stops at the largest number.
    pub(crate) fn add_to(&self, sums: &mut [u64]) {
        for (bin, count) in self.iter() {
            if let Some(sum) = sums.get_mut(bin) {
                *sum = sum.saturating_add(count);
            }
        }
    }
}

fn put(room: &mut Vec<u8>, mut token: u128) {
    while token >= 0x80 {
        room.push(token as u8 | 0x80);
        token >>= 7;
    }
    room.push(token as u8);
}

fn take(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u128> {
    let first = *bytes.next()?;
    if first < 0x80 {
        return Some(first.into());
    }
    let mut token = u128::from(first & 0x7f);
    let mut shift = 7;
    loop {
        let byte = *bytes.next()?;
        token |= u128::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(token);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            counts in prop::collection::vec(
                prop_oneof![Just(0), 1..70u64, any::<u64>()], 0..300)
        ) {
            let packed = Packed::new(&counts, &mut Vec::new());
            let mut sums = vec![0; counts.len()];
            packed.add_to(&mut sums);
            prop_assert_eq!(&sums, &counts);
            packed.add_to(&mut sums);
            let twice: Vec<_> = counts.iter().map(|count| count.saturating_mul(2)).collect();
            prop_assert_eq!(sums, twice);
        }
    }

    #[test]
    fn few_counts_take_few_bytes() {
        let mut counts = vec![0; 4_096];
        counts[1_000] = 3;
        counts[1_001] = 63;
        assert_eq!(Packed::new(&counts, &mut Vec::new()).0.len(), 4);
    }
}
