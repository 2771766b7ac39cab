//! What the addresses of a process mean, from one moment to the next.

use crate::facts::MappingKind;
use fathomp_paging::faults::Mapping;
use std::collections::{BTreeMap, HashSet};

/// The number of a mapping in the tally: it keeps it while it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct MapId(pub(super) u32);

/// The number of a file's or mapping's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NameId(pub(super) u32);

/// A part of a process's memory with one meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Where it begins in its file.
    pub(super) offset: u64,
    pub(super) protection: u32,
    pub(super) flags: u32,
    pub(super) name: NameId,
    /// What memory it is, but for stacks of threads.
    pub(super) kind: MappingKind,
    pub(super) id: MapId,
    /// Which life of these addresses it is: pages touched in an earlier one are new again.
    pub(super) life: u32,
}

/// `PROT_WRITE`.
const WRITE: u32 = 2;
/// `MAP_SHARED`.
const SHARED: u32 = 1;
/// `MAP_HUGETLB`.
const HUGE: u32 = 0x40000;

impl Piece {
    pub(super) fn is_writable(&self) -> bool {
        self.protection & WRITE != 0
    }

    pub(super) fn is_shared(&self) -> bool {
        self.flags & SHARED != 0
    }

    pub(super) fn is_accessible(&self) -> bool {
        self.protection != 0
    }

    fn continues(&self, other: &Mapping, name: NameId) -> bool {
        let same_place = !matches!(self.kind, MappingKind::File | MappingKind::SharedMemory)
            || self.start.wrapping_sub(other.start) == self.offset.wrapping_sub(other.offset);
        self.name == name && self.flags == other.flags && same_place
    }
}

/// What memory a mapping is, but for stacks of threads.
pub(super) fn kind(mapping: &Mapping) -> MappingKind {
    let shared_names = ["/dev/shm/", "/memfd:", "/SYSV", "/dev/zero"];
    match mapping.name.as_str() {
        name if mapping.flags & HUGE != 0 || name.starts_with("/anon_hugepage") => {
            MappingKind::HugePages
        }
        "[heap]" => MappingKind::Heap,
        "[stack]" => MappingKind::Stack,
        name if shared_names.iter().any(|start| name.starts_with(start)) => {
            MappingKind::SharedMemory
        }
        name if name.starts_with('[') => MappingKind::Kernel,
        name if name.starts_with('/') && !name.starts_with("//") => MappingKind::File,
        _ if mapping.flags & SHARED != 0 => MappingKind::SharedMemory,
        _ => MappingKind::Anonymous,
    }
}

/// The memory of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    /// By first address; they do not overlap.
    pieces: BTreeMap<u64, Piece>,
    /// Mappings that are stacks of threads.
    stacks: HashSet<MapId>,
    lives: u32,
}

impl Space {
    /// What contains an address.
    pub(super) fn at(&self, address: u64) -> Option<&Piece> {
        let (_, piece) = self.pieces.range(..=address).next_back()?;
        (address < piece.end).then_some(piece)
    }

    /// The last mapping of a file at a lower address, if nothing but memory without a file
    /// lies between: of a program's variables that are zero at first, there is only that.
    pub(super) fn file_before(&self, address: u64) -> Option<&Piece> {
        let mut before = self.pieces.range(..=address).rev().map(|(_, piece)| piece);
        let mut end = before.next()?.start;
        for piece in before {
            if piece.end != end {
                return None;
            }
            if piece.kind == MappingKind::File {
                return Some(piece);
            }
            end = piece.start;
        }
        None
    }

    /// A thread's stack is where this address is.
    pub(super) fn stack_at(&mut self, pointer: u64) {
        if let Some(id) = self.at(pointer).map(|piece| piece.id) {
            self.stacks.insert(id);
        }
    }

    pub(super) fn is_stack(&self, id: MapId) -> bool {
        self.stacks.contains(&id)
    }

    /// Takes what the kernel reported of a mapping: it came to be, grew, was merged with
    /// its neighbours or changed its protection. The kernel does not report what goes away,
    /// so a mapping that is reported just as it was is taken for one that came again.
    pub(super) fn take(
        &mut self,
        mapping: &Mapping,
        name: NameId,
        new_id: &mut impl FnMut() -> MapId,
    ) {
        if mapping.end <= mapping.start {
            return;
        }
        self.lives += 1;
        let before = self.cut_out(mapping.start, mapping.end);
        let again = matches!(
            &before[..],
            [one] if one.continues(mapping, name)
                && (one.start, one.end) == (mapping.start, mapping.end)
                && one.protection == mapping.protection
        );
        // What it grows from may also lie before it: the heap is reported piece by piece.
        let kept = before.iter().find(|piece| piece.continues(mapping, name));
        let id = kept.map_or_else(new_id, |piece| piece.id);
        let kind = kind(mapping);
        let mut put = |start: u64, end: u64, life: u32| {
            let offset = mapping.offset.wrapping_add(start - mapping.start);
            let piece = Piece {
                start,
                end,
                offset,
                protection: mapping.protection,
                flags: mapping.flags,
                name,
                kind,
                id,
                life,
            };
            self.pieces.insert(start, piece);
        };
        let mut at = mapping.start;
        for piece in before
            .iter()
            .filter(|piece| piece.continues(mapping, name) && !again)
        {
            if at < piece.start {
                put(at, piece.start, self.lives);
            }
            put(piece.start, piece.end, piece.life);
            at = piece.end;
        }
        if at < mapping.end {
            put(at, mapping.end, self.lives);
        }
    }

    /// Takes out what lies within a range, cutting what reaches beyond it.
    fn cut_out(&mut self, start: u64, end: u64) -> Vec<Piece> {
        let first = self.at(start).map_or(start, |piece| piece.start);
        let keys: Vec<u64> = self.pieces.range(first..end).map(|(key, _)| *key).collect();
        let mut inside = Vec::new();
        for key in keys {
            let Some(mut piece) = self.pieces.remove(&key) else {
                continue;
            };
            if piece.start < start {
                let left = Piece {
                    end: start,
                    ..piece.clone()
                };
                self.pieces.insert(left.start, left);
                piece.offset = piece.offset.wrapping_add(start - piece.start);
                piece.start = start;
            }
            if piece.end > end {
                let right = Piece {
                    start: end,
                    offset: piece.offset.wrapping_add(end - piece.start),
                    ..piece.clone()
                };
                self.pieces.insert(end, right);
                piece.end = end;
            }
            inside.push(piece);
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, protection: u32, name: &str) -> Mapping {
        Mapping {
            start,
            end,
            protection,
            flags: 2,
            name: name.to_owned(),
            ..Mapping::default()
        }
    }

    /// A space after some reports.
    fn after(reports: &[Mapping]) -> Space {
        let mut space = Space::default();
        let mut next = 0;
        let mut names = Vec::new();
        for report in reports {
            if !names.contains(&&report.name) {
                names.push(&report.name);
            }
            let name = names.iter().position(|name| **name == report.name);
            let name = NameId(name.unwrap() as u32);
            space.take(report, name, &mut || {
                next += 1;
                MapId(next)
            });
        }
        space
    }

    #[test]
    fn a_mapping_that_grows_keeps_its_number_and_its_touched_pages() {
        let space = after(&[mapping(10, 20, 3, "[heap]"), mapping(10, 30, 3, "[heap]")]);
        let (old, new) = (space.at(15).unwrap(), space.at(25).unwrap());
        assert_eq!(old.id, new.id);
        assert_eq!((old.life, new.life), (1, 2));
        assert!(space.at(30).is_none() && space.at(9).is_none());
    }

    #[test]
    fn a_change_of_protection_is_no_new_life() {
        let space = after(&[mapping(10, 20, 0, "//anon"), mapping(12, 14, 3, "//anon")]);
        let changed = space.at(13).unwrap();
        assert_eq!((changed.life, changed.protection), (1, 3));
        assert_eq!(space.at(11).unwrap().protection, 0);
        assert_eq!(space.at(14).unwrap().protection, 0);
        assert_eq!(changed.id, space.at(19).unwrap().id);
    }

    #[test]
    fn the_same_again_is_a_new_life() {
        let space = after(&[mapping(10, 20, 3, "//anon"), mapping(10, 20, 3, "//anon")]);
        assert_eq!(space.at(10).unwrap().life, 2);
    }

    #[test]
    fn a_file_over_other_memory_takes_its_place() {
        let mut file = mapping(12, 16, 1, "/lib/a.so");
        file.offset = 0x1000;
        let space = after(&[mapping(10, 20, 3, "//anon"), file]);
        assert_eq!(space.at(13).unwrap().kind, MappingKind::File);
        assert_eq!(space.at(11).unwrap().kind, MappingKind::Anonymous);
        assert_eq!(space.at(17).unwrap().kind, MappingKind::Anonymous);
        assert_eq!(space.file_before(18).unwrap().name, NameId(1));
        assert!(space.file_before(11).is_none());
    }

    #[test]
    fn kinds_are_told_by_name_and_sharing() {
        for (name, flags, kind) in [
            ("[heap]", 2, MappingKind::Heap),
            ("[stack]", 2, MappingKind::Stack),
            ("//anon", 2, MappingKind::Anonymous),
            ("//anon", 1, MappingKind::SharedMemory),
            ("/dev/shm/x", 1, MappingKind::SharedMemory),
            ("/dev/zero (deleted)", 1, MappingKind::SharedMemory),
            ("/a/b", 2, MappingKind::File),
            ("[vdso]", 2, MappingKind::Kernel),
            ("//anon", HUGE | 2, MappingKind::HugePages),
        ] {
            let mut one = mapping(0, 1, 3, name);
            one.flags = flags;
            assert_eq!(after(&[one]).at(0).unwrap().kind, kind, "{name} {flags}");
        }
    }

    #[test]
    fn impossible_reports_change_nothing() {
        let space = after(&[mapping(20, 10, 3, "x"), mapping(5, 5, 3, "y")]);
        assert!(space.pieces.is_empty());
        let space = after(&[
            mapping(0, u64::MAX, 3, "x"),
            mapping(u64::MAX - 1, u64::MAX, 1, "x"),
        ]);
        assert_eq!(space.at(u64::MAX - 1).unwrap().protection, 1);
    }
}
