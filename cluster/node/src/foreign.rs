//! What this node reads of other nodes' bytes, opened for the fuzz harness (`fuzz/`).

use crate::frame::Frame;
use crate::hosts::Facts;
use crate::layout::StackBytes;

/// Whether bytes are a frame, and of which kind.
#[must_use]
pub fn frame(bytes: &[u8]) -> Option<u8> {
    let (head, body) = Frame::read(bytes).ok()?.parts();
    // What was read is what was sent.
    assert_eq!([head.bytes(), body].concat(), bytes, "a frame changed");
    bytes.first().copied()
}

/// Whether bytes are an order with changes of the program's world: how many.
#[must_use]
pub fn order(bytes: &[u8]) -> Option<usize> {
    let (order, changes) = crate::world::unpack(bytes.to_vec())?;
    assert!(order.len() < bytes.len(), "an order grew");
    Some(changes.len())
}

/// What this process says of itself to those of other hosts.
#[must_use]
pub fn facts() -> Vec<u8> {
    let stacks = StackBytes {
        first: None,
        others: 1 << 20,
    };
    Facts::collect(stacks, 0).encode()
}

/// What another host's process says of itself, and how it differs from this one.
#[must_use]
pub fn difference(bytes: &[u8]) -> Option<String> {
    let theirs = Facts::decode(bytes)?;
    let ours = Facts::decode(&facts())?;
    let names = ["a".to_owned(), "b".to_owned()];
    let difference = ours.difference(&theirs, [&names[0], &names[1]]);
    Some(difference.unwrap_or_default())
}
