//! Changes files of blocks inside their blocks, and gives each its right checksum again:
//! else nothing behind the checksum would ever be reached.

use crate::json;
use crate::mutate;
use crate::random::Random;
use fathomp_blocks::{Block, Blocks, Origin, Piece, START_BYTES, put};

struct Owned {
    kind: u32,
    origin: Origin,
    payload: Vec<u8>,
}

impl From<Block<'_>> for Owned {
    fn from(block: Block<'_>) -> Self {
        Self {
            kind: block.kind,
            origin: block.origin,
            payload: block.payload.to_vec(),
        }
    }
}

fn sound(bytes: &[u8]) -> Vec<Owned> {
    let pieces = Blocks::new(bytes.get(START_BYTES..).unwrap_or_default());
    let blocks = pieces.filter_map(|piece| match piece {
        Piece::Block(block) => Some(block.into()),
        Piece::Cut(_) | Piece::Damage(_) => None,
    });
    blocks.collect()
}

/// Changes a file of blocks.
pub fn file(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let mut blocks = sound(input);
    if blocks.is_empty() || random.once_in(6) {
        return mutate::bytes(input, others, random);
    }
    let at = random.below(blocks.len());
    match random.below(10) {
        0 => {
            blocks.remove(at);
        }
        1 => {
            let other = random.below(blocks.len());
            blocks.swap(at, other);
        }
        2 => {
            let copy = Owned {
                payload: blocks[at].payload.clone(),
                ..blocks[at]
            };
            let to = random.below(blocks.len() + 1);
            blocks.insert(to, copy);
        }
        3 => {
            if let Some(other) = random.one_of(others) {
                blocks.extend(sound(other));
            }
        }
        4 => {
            let block = &mut blocks[at];
            let number = match random.once_in(2) {
                true => random.below(8) as u64,
                false => random.extreme(),
            };
            match random.below(4) {
                0 => block.kind = number as u32,
                1 => block.origin.source = number as u32,
                2 => block.origin.owner = number as u32,
                _ => block.origin.position = number,
            }
        }
        _ => payload(&mut blocks[at].payload, random),
    }
    let mut file = input[..START_BYTES].to_vec();
    for block in blocks {
        put(&mut file, block.kind, block.origin, &block.payload);
    }
    *input = file;
}

fn payload(payload: &mut Vec<u8>, random: &mut Random) {
    if payload.starts_with(b"{") || payload.starts_with(b"[") {
        json::document(payload, &[], random);
    } else if payload.len().is_multiple_of(8) && random.once_in(2) {
        mutate::words(payload, &[], random);
    } else {
        mutate::bytes(payload, &[], random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_blocks_are_sound_mostly() {
        let mut begin = fathomp_blocks::start(*b"FTHTEST\0", 1).to_vec();
        for (kind, payload) in [(1, &br#"{"a": 1}"#[..]), (2, &[7; 40])] {
            put(&mut begin, kind, Origin::default(), payload);
        }
        let (mut changed, mut blocks) = (0, 0);
        for seed in 0..500 {
            let mut input = begin.clone();
            file(&mut input, &[], &mut Random::new(seed));
            changed += usize::from(input != begin);
            blocks += sound(&input).len();
        }
        assert!(changed > 400 && blocks > 700, "{changed}, {blocks}");
    }
}
