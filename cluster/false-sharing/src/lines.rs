//! What happened to a line in one phase, and in all.

use crate::LINE_BYTES;
use crate::log::Region;
use std::collections::{BTreeMap, BTreeSet};

/// Different instructions that are kept of a line.
const INSTRUCTIONS_MAX: usize = 16;
/// Regions that are kept of a line.
const REGIONS_MAX: usize = 8;

/// Words of a line.
pub(crate) const WORDS: usize = LINE_BYTES as usize / 8;

/// A number for each word of 8 bytes of a line.
pub(crate) type Counts = [u64; WORDS];

/// The words that some bytes of a line lie in.
pub(crate) fn words(bytes: u64) -> impl Iterator<Item = usize> {
    (0..WORDS).filter(move |word| bytes >> (8 * word) & 0xff != 0)
}

/// What one node did to a line in one phase. Bit n of a mask stands for byte n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineUse {
    /// Bytes changed or written.
    pub(crate) wrote: u64,
    /// Of these, bytes updated by atomic instructions.
    pub(crate) atomic: u64,
    /// Bytes that it is known to have read.
    pub(crate) read: u64,
    /// Stretches between synchronisations in which it changed something.
    pub(crate) episodes: u64,
    /// Those at whose end a lock was released.
    pub(crate) locked: u64,
    /// Of each word, how often it was changed from one synchronisation to the next.
    pub(crate) changes: Counts,
    /// Of each word, accesses that trapped.
    pub(crate) traps: Counts,
    /// Of each word, atomic instructions.
    pub(crate) atomics: Counts,
    /// Atomic instructions on its most often updated bytes.
    pub(crate) atomics_most: u64,
}

impl LineUse {
    /// How many accesses to a word are known of at least.
    fn accesses(&self, word: usize) -> u64 {
        match self.atomics[word] {
            0 => self.changes[word].max(self.traps[word]),
            // They trap and change something as well.
            atomics => atomics,
        }
    }

    fn touched(&self) -> u64 {
        self.wrote | self.read
    }

    /// What it does to the bytes that others access as well is one update that cannot be
    /// divided: a thread adds what it has to what the others have, as a reduction does.
    /// Of `nodes` nodes each may have to try again as often as there are others.
    fn combines(&self, same: u64, nodes: usize) -> bool {
        let plain = self.wrote & same & !self.atomic;
        let all_locked = plain == 0 || self.episodes == self.locked;
        self.wrote & same != 0
            && all_locked
            && self.locked <= 1
            && self.atomics_most <= nodes as u64
    }
}

/// How a line was shared in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// Bytes that two nodes accessed and one wrote.
    pub(crate) same: u64,
    /// Two nodes accessed different bytes only, and one wrote.
    pub(crate) apart: bool,
    /// Nodes only combined what they had.
    pub(crate) combining: bool,
}

/// Judges a line by what each node did to it in a phase.
pub(crate) fn judge(all: &[(u16, LineUse)]) -> Judgement {
    let mut judged = Judgement::default();
    for (at, (_, one)) in all.iter().enumerate() {
        for (_, other) in &all[at + 1..] {
            let same = one.wrote & other.touched() | other.wrote & one.touched();
            let writes =
                one.wrote != 0 && other.touched() != 0 || other.wrote != 0 && one.touched() != 0;
            judged.same |= same;
            judged.apart |= writes && same == 0;
        }
    }
    let same = judged.same;
    let mut writers = all.iter().filter(|(_, did)| did.wrote & same != 0);
    let combine = writers.all(|(_, did)| did.combines(same, all.len()));
    let reads_only = |did: &LineUse| did.wrote == 0 && did.read & judged.same != 0;
    judged.combining = judged.same != 0 && combine && !all.iter().any(|(_, did)| reads_only(did));
    judged
}

/// What happened to a line that nodes shared, over all phases in which they did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineFacts {
    /// Phases in which two nodes accessed different bytes only, and one wrote.
    pub false_phases: u64,
    /// Phases in which two nodes accessed the same bytes, and one wrote.
    pub true_phases: u64,
    /// Of the first, those in which the line was only where the blocks of two nodes meet.
    pub boundary_phases: u64,
    /// Nodes that wrote.
    pub writers: BTreeSet<u16>,
    /// Nodes that are known to have read and did not write.
    pub readers: BTreeSet<u16>,
    /// Bytes that each node touched and no other did in the same phase.
    pub own: BTreeMap<u16, u64>,
    /// Of all those, bytes that were written.
    pub own_wrote: u64,
    /// Bytes that several nodes touched in the same phase, and one wrote.
    pub same: u64,
    /// Of these, bytes that several nodes wrote.
    pub both_wrote: u64,
    /// Bytes that were written.
    pub wrote: u64,
    /// Accesses to each word known of at least, in these phases.
    pub accesses: Counts,
    /// Of these, atomic instructions.
    pub atomics: Counts,
    /// Stretches in which something was changed and at whose end a lock was released.
    pub locked: u64,
    /// Addresses of instructions that accessed it, and how often that was seen.
    pub instructions: BTreeMap<u64, u64>,
    /// Regions in which it was shared, and how many accesses are known there.
    pub regions: BTreeMap<Region, u64>,
}

impl LineFacts {
    /// Takes in a phase in which the line was shared.
    pub(crate) fn add(
        &mut self,
        judged: Judgement,
        all: &[(u16, LineUse)],
        boundary: bool,
        region: Region,
    ) {
        match judged.same {
            0 => {
                self.false_phases += 1;
                self.boundary_phases += u64::from(boundary);
            }
            _ => self.true_phases += 1,
        }
        self.same |= judged.same;
        let mut accesses: u64 = 0;
        for (node, did) in all {
            if did.wrote != 0 {
                self.writers.insert(*node);
            } else {
                self.readers.insert(*node);
            }
            let others = all.iter().filter(|(other, _)| other != node);
            let (theirs, written) = others.fold((0, 0), |(touched, wrote), (_, other)| {
                (touched | other.touched(), wrote | other.wrote)
            });
            *self.own.entry(*node).or_default() |= did.touched() & !theirs;
            self.own_wrote |= did.wrote & !theirs;
            self.both_wrote |= did.wrote & written;
            self.wrote |= did.wrote;
            self.locked = self.locked.saturating_add(did.locked);
            for word in 0..WORDS {
                let known = did.accesses(word);
                accesses = known.saturating_add(accesses);
                self.accesses[word] = self.accesses[word].saturating_add(known);
                let atomics = did.atomics[word];
                self.atomics[word] = self.atomics[word].saturating_add(atomics);
            }
        }
        if let Some(known) = self.regions.get_mut(&region) {
            *known = known.saturating_add(accesses);
        } else if self.regions.len() < REGIONS_MAX {
            self.regions.insert(region, accesses);
        }
    }

    /// An instruction accessed it.
    pub(crate) fn instruction(&mut self, address: u64, times: u64) {
        if let Some(known) = self.instructions.get_mut(&address) {
            *known = known.saturating_add(times);
        } else if self.instructions.len() < INSTRUCTIONS_MAX {
            self.instructions.insert(address, times);
        }
    }
}

/// A line that several nodes read while nobody wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadFacts {
    /// Nodes that are known to have read it.
    pub readers: BTreeSet<u16>,
    /// Phases in which it was read and nobody wrote its page.
    pub read_phases: u64,
    /// Bytes known to have been read.
    pub bytes: u64,
    /// Regions in which it was.
    pub regions: BTreeSet<Region>,
    /// Reads that were seen.
    pub reads: u64,
    /// Addresses of instructions that read it.
    pub instructions: BTreeSet<u64>,
}

/// The mask of `bytes` bytes from byte `first` of a line on, as far as they lie in it.
pub(crate) fn mask(first: u64, bytes: u64) -> u64 {
    let count = bytes.min(LINE_BYTES.saturating_sub(first));
    match count {
        0 => 0,
        LINE_BYTES => u64::MAX,
        _ => ((1 << count) - 1) << first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wrote(bytes: u64) -> LineUse {
        LineUse {
            wrote: bytes,
            episodes: 1,
            ..LineUse::default()
        }
    }

    fn read(bytes: u64) -> LineUse {
        LineUse {
            read: bytes,
            ..LineUse::default()
        }
    }

    fn judged(all: &[LineUse]) -> Judgement {
        let all: Vec<_> = (0..).zip(all.iter().copied()).collect();
        judge(&all)
    }

    #[test]
    fn masks_end_with_the_line() {
        assert_eq!(mask(0, 64), u64::MAX);
        assert_eq!(mask(8, 8), 0xff00);
        assert_eq!(mask(60, 8), 0xf << 60);
        assert_eq!(mask(3, 0), 0);
        assert_eq!(mask(64, 8), 0);
    }

    #[test]
    fn different_bytes_are_false_sharing_and_the_same_are_true() {
        let neighbours = judged(&[wrote(0xff), wrote(0xff00)]);
        assert_eq!((neighbours.same, neighbours.apart), (0, true));
        let both = judged(&[wrote(0xffff), wrote(0xff00)]);
        assert_eq!((both.same, both.apart), (0xff00, false));
        let reader = judged(&[wrote(0xff), read(0xff00)]);
        assert_eq!((reader.same, reader.apart), (0, true));
        let watcher = judged(&[wrote(0xff), read(0x0f)]);
        assert_eq!((watcher.same, watcher.apart), (0x0f, false));
        let readers = judged(&[read(0xff), read(0xff00)]);
        assert_eq!((readers.same, readers.apart), (0, false));
    }

    #[test]
    fn one_update_of_each_is_a_reduction_and_more_are_not() {
        let atomic = |times| LineUse {
            wrote: 0xff,
            atomic: 0xff,
            atomics_most: times,
            ..LineUse::default()
        };
        assert!(judged(&[atomic(1), atomic(1)]).combining);
        assert!(judged(&[atomic(1), atomic(2)]).combining, "tried again");
        assert!(!judged(&[atomic(1), atomic(3)]).combining);
        let locked = |times| LineUse {
            locked: times,
            episodes: times,
            ..wrote(0xff)
        };
        assert!(judged(&[locked(1), locked(1)]).combining);
        assert!(!judged(&[locked(2), locked(1)]).combining);
        assert!(!judged(&[wrote(0xff), wrote(0xff)]).combining, "no lock");
        assert!(!judged(&[locked(1), read(0xff)]).combining, "a reader");
        assert!(!judged(&[wrote(1), wrote(2)]).combining, "not shared");
    }

    proptest! {
        #[test]
        fn the_order_of_nodes_says_nothing(
            bytes in prop::collection::vec((any::<u64>(), any::<u64>()), 2..5),
            by in 0..4_usize,
        ) {
            let mut all: Vec<_> = bytes
                .iter()
                .map(|(w, r)| LineUse { wrote: w & r, read: !w & r, ..LineUse::default() })
                .collect();
            let before = judged(&all);
            all.rotate_left(by % bytes.len());
            prop_assert_eq!(judged(&all), before);
        }

        #[test]
        fn what_one_node_does_is_not_shared(w in any::<u64>(), r in any::<u64>()) {
            let one = LineUse { wrote: w, read: r, ..LineUse::default() };
            prop_assert_eq!(judged(&[one, LineUse::default()]), Judgement::default());
        }
    }
}
