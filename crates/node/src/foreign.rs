//! What this node reads of other nodes' bytes, opened for the fuzz harness (`fuzz/`).

use crate::frame::Frame;

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
