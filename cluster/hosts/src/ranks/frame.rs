//! What the MPI threads of two ranks send each other over MPI: a head of a fixed length, and bytes
//! of a connection behind it.

use fathomp_sys::mpi::MESSAGE_BYTES_MAX;

/// Bytes of a head.
pub(super) const HEAD_BYTES: usize = 13;
/// Bytes of a connection in a message, at most.
pub(super) const CONTENT_BYTES_MAX: usize = MESSAGE_BYTES_MAX - HEAD_BYTES;

/// Which connection is meant, as the one that sends the message sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Line {
    /// How many programs on a host have asked for connections.
    pub(super) generation: u32,
    /// The node on the sender's side.
    pub(super) mine: u16,
    /// The node on the other.
    pub(super) peer: u16,
}

impl Line {
    /// The same connection as the other side sees it.
    pub(super) fn turned(self) -> Self {
        Self {
            mine: self.peer,
            peer: self.mine,
            ..self
        }
    }
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Bytes of the connection follow.
    Bytes,
    /// So many bytes have been taken.
    Credit(u32),
    /// There will be no more bytes.
    End,
}

/// The head of a message.
pub(super) fn head(line: Line, what: What) -> [u8; HEAD_BYTES] {
    let (kind, number) = match what {
        What::Bytes => (0_u8, 0),
        What::Credit(bytes) => (1, bytes),
        What::End => (2, 0),
    };
    let mut head = [0; HEAD_BYTES];
    let fields: [&[u8]; 5] = [
        &[kind],
        &line.generation.to_le_bytes(),
        &line.mine.to_le_bytes(),
        &line.peer.to_le_bytes(),
        &number.to_le_bytes(),
    ];
    for (byte, field) in head.iter_mut().zip(fields.into_iter().flatten()) {
        *byte = *field;
    }
    head
}

/// The head of a message and what follows it; none if it makes no sense.
pub(super) fn open(message: &[u8]) -> Option<(Line, What, &[u8])> {
    let (kind, rest) = message.split_first()?;
    let (generation, rest) = rest.split_first_chunk()?;
    let (mine, rest) = rest.split_first_chunk()?;
    let (peer, rest) = rest.split_first_chunk()?;
    let (number, content) = rest.split_first_chunk()?;
    let line = Line {
        generation: u32::from_le_bytes(*generation),
        mine: u16::from_le_bytes(*mine),
        peer: u16::from_le_bytes(*peer),
    };
    let what = match kind {
        0 => What::Bytes,
        1 => What::Credit(u32::from_le_bytes(*number)),
        2 => What::End,
        _ => return None,
    };
    Some((line, what, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back() {
        let line = Line {
            generation: 70_000,
            mine: 3,
            peer: 255,
        };
        for what in [What::Bytes, What::Credit(123_456), What::End] {
            let message = [&head(line, what)[..], b"content"].concat();
            assert_eq!(open(&message), Some((line, what, &b"content"[..])));
            assert_eq!(open(&message[..HEAD_BYTES - 1]), None);
        }
        assert_eq!(line.turned().turned(), line);
        let mut odd = head(line, What::End);
        odd[0] = 3;
        assert_eq!(open(&odd), None);
    }
}
