//! What this node reads of connections to other hosts, opened for the fuzz harness (`fuzz/`).

use super::connection::Connection;
use super::stream::{Inbox, Received};
use fathomp_sys::polling::NonblockingSocket;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;

/// Sends bytes in pieces of such lengths, and takes what comes: how many frames, and what is
/// wrong with the bytes behind the last one.
///
/// # Errors
/// If there is no connection.
pub fn frames(bytes: &[u8], pieces: &[usize]) -> io::Result<(usize, Option<String>)> {
    const BYTES_MAX: usize = 100_000;
    let (mut peer, wire) = UnixStream::pair()?;
    let wire = Connection::Socket(NonblockingSocket::new(wire.into()));
    let (mut inbox, mut content) = (Inbox::default(), Vec::new());
    let (mut frames, mut rest) = (0, bytes);
    let mut pieces = pieces.iter();
    loop {
        let piece = pieces.next().map_or(rest.len(), |piece| *piece);
        let (now, later) = rest.split_at(rest.len().min(piece));
        peer.write_all(now)?;
        rest = later;
        let is_last = rest.is_empty();
        if is_last {
            peer.shutdown(std::net::Shutdown::Write)?;
        }
        loop {
            match inbox.take(&wire, BYTES_MAX, &mut content) {
                Ok(Received::Frame(_)) => {
                    assert!(content.len() <= BYTES_MAX, "a frame longer than allowed");
                    frames += 1;
                }
                Ok(Received::Nothing) => break,
                Ok(Received::End) => return Ok((frames, None)),
                Err(error) => return Ok((frames, Some(error.to_string()))),
            }
        }
    }
}

/// Frames of such lengths, as they are sent.
#[must_use]
pub fn sent(lengths: &[usize]) -> Vec<u8> {
    use super::stream::{Kind, Outbox};
    use std::io::Read;
    let Ok((mut peer, wire)) = UnixStream::pair() else {
        return Vec::new();
    };
    let wire = Connection::Socket(NonblockingSocket::new(wire.into()));
    let mut bytes = Vec::new();
    for length in lengths {
        // Small enough to leave at once.
        let content = vec![7; (*length).min(10_000)];
        let mut outbox = Outbox::default();
        if outbox.push(&wire, Kind::Message, &[&content]).is_err() || outbox.backlog() > 0 {
            break;
        }
        let mut frame = vec![0; content.len() + super::stream::HEADER_BYTES];
        if peer.read_exact(&mut frame).is_err() {
            break;
        }
        bytes.extend(frame);
    }
    bytes
}
