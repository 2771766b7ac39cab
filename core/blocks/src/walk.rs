//! From block to block of a file, over what is damaged.

use crate::frame::{self, Block, HEAD_BYTES, MARK};
use std::convert::Infallible;

/// Bytes that may be examined in search of sound blocks after damaged ones.
/// Bounds the time that a file made to waste it can take.
const SEARCH_BYTES: u64 = 1 << 30;

/// Bytes to walk over: in memory, or a window that moves over a file.
pub trait Source {
    /// Why bytes cannot be had.
    type Error;

    /// How many there are.
    fn total(&self) -> u64;

    /// The bytes at hand from `position` on: at least `bytes` of them, unless
    /// the source ends before.
    ///
    /// # Errors
    /// If they cannot be had.
    fn at(&mut self, position: u64, bytes: usize) -> Result<&[u8], Self::Error>;
}

impl Source for &[u8] {
    type Error = Infallible;

    fn total(&self) -> u64 {
        self.len() as u64
    }

    fn at(&mut self, position: u64, _: usize) -> Result<&[u8], Infallible> {
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        Ok(self.get(position..).unwrap_or(&[]))
    }
}

/// What lies where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A sound block: where it begins, and its length with its head.
    Block(u64, usize),
    /// So many bytes that are no sound block, with more of the file to come.
    Damage(u64),
    /// So many bytes at the end that are no complete block.
    Cut(u64),
}

/// A walk over the blocks of a source.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    position: u64,
    search_bytes: u64,
}

impl Walk {
    /// A walk that begins at `position`.
    #[must_use]
    pub fn new(position: u64) -> Self {
        Self {
            position,
            search_bytes: SEARCH_BYTES,
        }
    }

    /// What comes next; nothing at the end.
    ///
    /// # Errors
    /// If the source's bytes cannot be had.
    pub fn next<S: Source>(&mut self, source: &mut S) -> Result<Option<Place>, S::Error> {
        let begin = self.position;
        let end = source.total();
        if begin >= end {
            return Ok(None);
        }
        if let Some(bytes) = sound(source, begin)? {
            self.position += bytes as u64;
            return Ok(Some(Place::Block(begin, bytes)));
        }
        let mut at = begin + 1;
        while let Some(found) = find(source, at)? {
            let examined = claimed(source, found)?.unwrap_or(0) as u64;
            if examined > self.search_bytes {
                break;
            }
            self.search_bytes -= examined;
            if sound(source, found)?.is_some() {
                self.position = found;
                return Ok(Some(Place::Damage(found - begin)));
            }
            at = found + 1;
        }
        self.position = end;
        Ok(Some(Place::Cut(end - begin)))
    }
}

/// Where the next block may begin, at `at` or later.
fn find<S: Source>(source: &mut S, mut at: u64) -> Result<Option<u64>, S::Error> {
    loop {
        let bytes = source.at(at, HEAD_BYTES)?;
        if bytes.len() < HEAD_BYTES {
            return Ok(None);
        }
        if let Some(found) = bytes.windows(MARK.len()).position(|window| window == MARK) {
            return Ok(Some(at + found as u64));
        }
        at += (bytes.len() - (MARK.len() - 1)) as u64;
    }
}

/// Length of the block that claims to begin at `at`, if there is room for it.
fn claimed<S: Source>(source: &mut S, at: u64) -> Result<Option<usize>, S::Error> {
    let room = source.total().saturating_sub(at);
    let claimed = frame::claimed_bytes(source.at(at, HEAD_BYTES)?);
    Ok(claimed.filter(|bytes| *bytes as u64 <= room))
}

/// Length of the block at `at`, if it is sound.
fn sound<S: Source>(source: &mut S, at: u64) -> Result<Option<usize>, S::Error> {
    if !source.at(at, HEAD_BYTES)?.starts_with(&MARK) {
        return Ok(None);
    }
    let Some(bytes) = claimed(source, at)? else {
        return Ok(None);
    };
    Ok(frame::read(source.at(at, bytes)?).map(|(_, length)| length))
}

/// What a walk over blocks in memory comes across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A sound block.
    Block(Block<'a>),
    /// So many bytes that are no sound block, with more to come.
    Damage(usize),
    /// So many bytes at the end that are no complete block.
    Cut(usize),
}

/// The blocks of bytes in memory.
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    bytes: &'a [u8],
    walk: Walk,
}

impl<'a> Blocks<'a> {
    /// Walks over `bytes`, which begin with a block.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            walk: Walk::new(0),
        }
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let Ok(place) = self.walk.next(&mut self.bytes);
        match place? {
            // The walk has just compared its checksum.
            Place::Block(at, _) => {
                let bytes = self.bytes.get(usize::try_from(at).ok()?..)?;
                frame::parse(bytes).map(|(block, _)| Piece::Block(block))
            }
            Place::Damage(bytes) => Some(Piece::Damage(bytes as usize)),
            Place::Cut(bytes) => Some(Piece::Cut(bytes as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Origin, put};
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        let origin = Origin {
            source: 3,
            owner: 7,
            position: 1 << 40,
        };
        put(&mut bytes, 1, Origin::default(), b"{}");
        put(&mut bytes, 3, origin, b"some twenty-four bytes..");
        put(&mut bytes, 900, origin, b"");
        bytes
    }

    /// Hands out no more than what is asked for, as a window over a file may.
    struct Narrow<'a>(&'a [u8]);

    impl Source for Narrow<'_> {
        type Error = Infallible;

        fn total(&self) -> u64 {
            self.0.len() as u64
        }

        fn at(&mut self, position: u64, bytes: usize) -> Result<&[u8], Infallible> {
            let rest = self.0.get(position as usize..).unwrap_or(&[]);
            Ok(&rest[..bytes.min(rest.len())])
        }
    }

    fn places<S: Source<Error = Infallible>>(mut source: S) -> Vec<Place> {
        let mut walk = Walk::new(0);
        let mut places = Vec::new();
        while let Ok(Some(place)) = walk.next(&mut source) {
            places.push(place);
        }
        places
    }

    #[test]
    fn blocks_come_back_as_written() {
        let bytes = sample();
        let blocks: Vec<_> = Blocks::new(&bytes)
            .map(|piece| match piece {
                Piece::Block(block) => block,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(blocks.len(), 3);
        assert_eq!((blocks[1].kind, blocks[2].kind), (3, 900));
        assert_eq!(blocks[1].origin.position, 1 << 40);
        assert_eq!(blocks[1].payload, b"some twenty-four bytes..");
    }

    #[test]
    fn a_cut_costs_only_the_last_block() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            let pieces: Vec<_> = Blocks::new(&bytes[..cut]).collect();
            let (cuts, blocks): (Vec<_>, Vec<_>) = pieces
                .iter()
                .partition(|piece| matches!(piece, Piece::Cut(_)));
            assert!(cuts.len() <= 1);
            assert!(blocks.iter().all(|piece| matches!(piece, Piece::Block(_))));
        }
    }

    #[test]
    fn a_damaged_byte_costs_only_its_block() {
        let bytes = sample();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            let sound = Blocks::new(&damaged)
                .filter(|piece| matches!(piece, Piece::Block(_)))
                .count();
            assert_eq!(sound, 2, "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn every_byte_is_accounted_for_whatever_the_window(
            noise in proptest::collection::vec(any::<u8>(), 0..80),
            at in 0usize..120,
            flips in proptest::collection::vec((0usize..200, 1u8..), 0..3),
        ) {
            let mut bytes = sample();
            let at = at.min(bytes.len());
            bytes.splice(at..at, noise);
            for (place, flip) in flips {
                let place = place % bytes.len();
                bytes[place] ^= flip;
            }
            let found = places(&bytes[..]);
            prop_assert_eq!(&found, &places(Narrow(&bytes)));
            let total: u64 = found
                .iter()
                .map(|place| match place {
                    Place::Block(_, bytes) => *bytes as u64,
                    Place::Damage(bytes) | Place::Cut(bytes) => *bytes,
                })
                .sum();
            prop_assert_eq!(total, bytes.len() as u64);
        }
    }
}
