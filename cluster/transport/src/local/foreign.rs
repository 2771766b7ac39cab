//! What a node reads of the memory that other nodes write, opened for the fuzz harness
//! (`fuzz/`).

use super::{Fabric, Limits};
use crate::Transport;
use fathomp_types::NodeId;
use std::io;

/// Puts bytes where a peer's messages stand, shows so many more of them each time, and takes
/// what comes: how many messages, and what is wrong with the bytes behind the last one.
///
/// # Errors
/// If there is no memory for the rings.
pub fn receive(bytes: &[u8], shown: &[u64]) -> io::Result<(usize, Option<String>)> {
    let limits = Limits {
        ring_bytes: 256,
        message_bytes_max: 1_000,
        ..Limits::for_nodes(2)
    };
    let fabric = Fabric::new(2, limits, None)?;
    let node = fabric.join(NodeId(1))?;
    let ring = fabric.ring(NodeId(0), NodeId(1));
    let (mut messages, mut message) = (0, Vec::new());
    let (mut head, mut rest) = (0_u64, bytes);
    for more in shown {
        let (now, later) = rest.split_at(rest.len().min(ring.capacity()));
        ring.write(head, now);
        rest = later;
        head = head.wrapping_add(*more);
        ring.publish(head);
        loop {
            match node.receive(&mut message) {
                Ok(Some(from)) => {
                    assert_eq!(from, NodeId(0), "a message of a node that sent none");
                    assert!(message.len() <= 1_000, "a message longer than allowed");
                    messages += 1;
                }
                Ok(None) => break,
                Err(error) => return Ok((messages, Some(error.to_string()))),
            }
        }
    }
    Ok((messages, None))
}
