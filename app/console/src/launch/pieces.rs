//! Streams, read piece by piece.

use std::io::{self, Read};

/// Reads until the end, an error, or `take` wants no more. A terminal that the last program
/// has left reads as an error.
pub(super) fn for_each_piece(from: &mut impl Read, mut take: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        match buffer.get(..length) {
            Some(piece) if take(piece) => {}
            _ => return,
        }
    }
}
