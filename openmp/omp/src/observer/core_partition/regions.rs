//! What is known of the regions of this program: how long they took.

use fathomp_core_arbiter::learn::Times;

/// Regions that are remembered: the others count as one.
const REGIONS: usize = 512;
/// Places that are looked at for a region.
const LOOKS: usize = 8;

/// A table of regions by the address of their code. Number 0 stands for all that have no
/// place in it.
pub(super) struct Regions {
    known: Box<[(usize, Times)]>,
}

impl Default for Regions {
    fn default() -> Self {
        Self {
            known: vec![(0, Times::default()); REGIONS].into(),
        }
    }
}

impl Regions {
    /// The number of the region whose code is at `address`; a new one is `expected` to take
    /// these times.
    pub(super) fn find(&mut self, address: usize, expected: impl FnOnce() -> Times) -> usize {
        // The multiplier is 2^64 divided by the golden ratio (D. Knuth).
        let hash = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        for look in 0..LOOKS {
            let number = (hash as usize).wrapping_add(look) % (REGIONS - 1) + 1;
            let (known, times) = &mut self.known[number];
            if *known == 0 {
                *known = address;
                *times = expected();
                return number;
            }
            if *known == address {
                return number;
            }
        }
        0
    }

    /// How long its executions took; none for number 0, which stands for several.
    pub(super) fn times(&self, number: usize) -> Option<&Times> {
        self.known
            .get(number)
            .filter(|_| number > 0)
            .map(|(_, times)| times)
    }

    /// An execution took `ns` nanoseconds.
    pub(super) fn add(&mut self, number: usize, threads: u32, ns: f64) {
        if let Some((_, times)) = self.known.get_mut(number) {
            times.add(threads, ns);
        }
    }

    /// Address of its code; 0 for number 0.
    pub(super) fn address(&self, number: usize) -> usize {
        self.known.get(number).map_or(0, |(address, _)| *address)
    }
}
