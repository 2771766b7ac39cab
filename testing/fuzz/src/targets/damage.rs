//! Files of blocks, whatever their blocks hold.

use crate::target::{Said, Shape, Target, about};
use fathomp_blocks::{Blocks, Origin, Piece, START_BYTES, put, start};

/// Walks through blocks.
pub(super) const BLOCKS: Target = Target {
    name: "blocks",
    what: "files of blocks with checksums",
    shape: Shape::Blocks,
    seeds,
    read,
};

fn seeds() -> Vec<Vec<u8>> {
    let mut file = start(*b"FTHTEST\0", 1).to_vec();
    for (kind, payload) in [(1, &b"{\"a\": 1}"[..]), (2, &[7; 40]), (3, &[])] {
        put(&mut file, kind, Origin::default(), payload);
    }
    vec![file]
}

fn read(input: &[u8]) -> Said {
    let blocks = input.get(START_BYTES..).unwrap_or_default();
    let mut found = [0_usize; 3];
    let mut bytes = 0;
    for piece in Blocks::new(blocks) {
        match piece {
            Piece::Block(block) => {
                bytes += block.payload.len();
                found[0] += 1;
            }
            Piece::Cut(_) => found[1] += 1,
            Piece::Damage(_) => found[2] += 1,
        }
    }
    assert!(bytes <= blocks.len(), "blocks hold more than the file");
    Said::read(found.map(about))
}
