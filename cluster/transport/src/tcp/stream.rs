//! Both directions of a connection: frames in a stream of bytes.
//!
//! A frame is its length and its kind (four bytes each, little-endian), and its content.

use super::connection::Connection;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};

/// Bytes of a frame in front of its content.
pub(super) const HEADER_BYTES: usize = 8;
/// In the upper half of each kind, so that bytes that are no frames are seen as such.
const MARK: u32 = 0xfa70 << 16;
/// What is received at once.
const RECEIVED_BYTES: usize = 64 << 10;
/// A frame of so many bytes or more is received into place, not through the buffer.
const LARGE_BYTES: usize = 16 << 10;

/// Most bytes of messages that are held back, to be sent with the next one: more take longer to
/// be copied than to be sent by themselves.
const HELD_BYTES_MAX: usize = 16 << 10;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A message of the node.
    Message = 1,
    /// Why the run failed.
    Abort = 2,
    /// The node will end, and that is as it should be.
    Depart = 3,
}

impl Kind {
    fn of(word: u32) -> Option<Self> {
        let all = [Self::Message, Self::Abort, Self::Depart];
        all.into_iter().find(|kind| kind.word() == word)
    }

    fn word(self) -> u32 {
        MARK | self as u32
    }
}

/// What came out of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A frame of that kind, whose content is where it was asked for.
    Frame(Kind),
    /// Nothing more at present.
    Nothing,
    /// The end of the stream.
    End,
}

/// Why a stream is of no more use.
#[derive(Debug, thiserror::Error)]
pub(super) enum StreamError {
    /// The connection is lost.
    #[error(transparent)]
    Lost(#[from] io::Error),
    /// The peer lies, or somebody else speaks.
    #[error("{0}")]
    Garbage(&'static str),
}

/// The incoming direction.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Bytes received and not taken are in `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// A large frame that comes in parts: its kind, its content, how much of that is there.
    large: Option<(Kind, Vec<u8>, usize)>,
}

/// A frame's kind and length as its header says.
fn header(bytes: &[u8], bytes_max: usize) -> Result<(Kind, usize), StreamError> {
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return Err(StreamError::Garbage("a frame without a header"));
    };
    let length = u32::from_le_bytes(*length) as usize;
    let kind = rest.first_chunk().map(|word| u32::from_le_bytes(*word));
    let Some(kind) = kind.and_then(Kind::of) else {
        return Err(StreamError::Garbage("bytes that are no frame"));
    };
    if length > bytes_max {
        return Err(StreamError::Garbage("a frame longer than allowed"));
    }
    Ok((kind, length))
}

impl Inbox {
    /// The next frame, whose content replaces `content`.
    ///
    /// # Errors
    /// If the stream is of no more use.
    pub(super) fn take(
        &mut self,
        wire: &Connection,
        bytes_max: usize,
        content: &mut Vec<u8>,
    ) -> Result<Received, StreamError> {
        loop {
            if let Some(kind) = self.take_buffered(bytes_max, content)? {
                return Ok(Received::Frame(kind));
            }
            let received = match self.receive(wire) {
                Ok(0) => return self.at_end(),
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Received::Nothing);
                }
                Err(error) => return Err(error.into()),
            };
            match &mut self.large {
                Some((_, _, have)) => *have += received,
                None => self.end += received,
            }
        }
    }

    /// Whether a whole frame is in the buffer.
    pub(super) fn has_frame(&self) -> bool {
        if let Some((_, content, have)) = &self.large {
            return *have == content.len();
        }
        let bytes = &self.buffer[self.start..self.end];
        match header(bytes.get(..HEADER_BYTES).unwrap_or_default(), usize::MAX) {
            Ok((_, length)) => bytes.len() - HEADER_BYTES >= length,
            // Whoever takes it says what is wrong.
            Err(_) => bytes.len() >= HEADER_BYTES,
        }
    }

    fn receive(&mut self, wire: &Connection) -> io::Result<usize> {
        if let Some((_, content, have)) = &mut self.large {
            return wire.receive(&mut content[*have..]);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        self.buffer.resize(RECEIVED_BYTES, 0);
        wire.receive(&mut self.buffer[self.end..])
    }

    fn take_buffered(
        &mut self,
        bytes_max: usize,
        content: &mut Vec<u8>,
    ) -> Result<Option<Kind>, StreamError> {
        if let Some((kind, mut whole, have)) = self.large.take() {
            if have < whole.len() {
                self.large = Some((kind, whole, have));
                return Ok(None);
            }
            std::mem::swap(content, &mut whole);
            return Ok(Some(kind));
        }
        let bytes = &self.buffer[self.start..self.end];
        if bytes.len() < HEADER_BYTES {
            return Ok(None);
        }
        let (kind, length) = header(bytes, bytes_max)?;
        let behind = &bytes[HEADER_BYTES..];
        if let Some(frame) = behind.get(..length) {
            content.clear();
            content.extend_from_slice(frame);
            self.start += HEADER_BYTES + length;
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
            }
            return Ok(Some(kind));
        }
        if length >= LARGE_BYTES {
            let mut whole = vec![0; length];
            let have = behind.len();
            whole[..have].copy_from_slice(behind);
            self.large = Some((kind, whole, have));
            (self.start, self.end) = (0, 0);
        }
        Ok(None)
    }

    fn at_end(&self) -> Result<Received, StreamError> {
        match self.large.is_some() || self.start < self.end {
            true => Err(StreamError::Garbage("a frame that is cut off")),
            false => Ok(Received::End),
        }
    }
}

/// The outgoing direction.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// What there was no room for, or what is held back.
    kept: VecDeque<u8>,
    /// There was no room: it is tried again when there is.
    is_full: bool,
}

/// A frame's header.
fn head(kind: Kind, parts: &[&[u8]]) -> [u8; HEADER_BYTES] {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    debug_assert!(u32::try_from(length).is_ok(), "a frame of {length} bytes");
    let mut head = [0; HEADER_BYTES];
    head[..4].copy_from_slice(&(length as u32).to_le_bytes());
    head[4..].copy_from_slice(&kind.word().to_le_bytes());
    head
}

impl Outbox {
    /// Bytes that wait for room.
    pub(super) fn backlog(&self) -> usize {
        match self.is_full {
            true => self.kept.len(),
            false => 0,
        }
    }

    /// Whether something is held back.
    pub(super) fn holds(&self) -> bool {
        !self.is_full && !self.kept.is_empty()
    }

    /// Holds a frame back, until another one is sent or all is [flushed](Self::flush). `false`
    /// if too much is held back already.
    pub(super) fn hold(&mut self, kind: Kind, parts: &[&[u8]]) -> bool {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let fits = self.kept.len() + bytes <= HELD_BYTES_MAX;
        if fits {
            self.kept.extend(head(kind, parts));
            parts.iter().for_each(|part| self.kept.extend(*part));
        }
        fits
    }

    /// Sends a frame of parts one after another, behind what is held back. What there is no room
    /// for is kept.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(super) fn push(
        &mut self,
        wire: &Connection,
        kind: Kind,
        parts: &[&[u8]],
    ) -> io::Result<()> {
        /// Parts of a frame with its header, and of what is kept; more would be sent piece by
        /// piece.
        const PARTS: usize = 10;
        /// Of these, those that are not the frame's.
        const OTHERS: usize = 3;
        let head = head(kind, parts);
        let mut sent = 0;
        if !self.is_full && parts.len() <= PARTS - OTHERS {
            let (front, behind) = self.kept.as_slices();
            let mut slices = [IoSlice::new(&[]); PARTS];
            let others = [front, behind, &head[..]];
            for (slice, part) in slices.iter_mut().zip(others.iter().chain(parts)) {
                *slice = IoSlice::new(part);
            }
            // Nothing held back is the usual case.
            let first = if self.kept.is_empty() { OTHERS - 1 } else { 0 };
            sent = match wire.send(&slices[first..OTHERS + parts.len()]) {
                Ok(sent) => sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            };
        }
        let of_kept = sent.min(self.kept.len());
        self.kept.drain(..of_kept);
        sent -= of_kept;
        for part in std::iter::once(&head[..]).chain(parts.iter().copied()) {
            self.kept.extend(&part[sent.min(part.len())..]);
            sent = sent.saturating_sub(part.len());
        }
        self.is_full = !self.kept.is_empty();
        Ok(())
    }

    /// Sends as much as there is room for of what was kept.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(super) fn flush(&mut self, wire: &Connection) -> io::Result<()> {
        while !self.kept.is_empty() {
            let (front, behind) = self.kept.as_slices();
            match wire.send(&[IoSlice::new(front), IoSlice::new(behind)]) {
                Ok(sent) => drop(self.kept.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.is_full = !self.kept.is_empty();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_sys::polling::NonblockingSocket;
    use proptest::prelude::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const BYTES_MAX: usize = 1 << 20;

    fn connection(stream: UnixStream) -> Connection {
        Connection::Socket(NonblockingSocket::new(stream.into()))
    }

    fn pair() -> (Connection, Connection) {
        let (one, other) = UnixStream::pair().unwrap();
        (connection(one), connection(other))
    }

    proptest! {
        #[test]
        fn frames_arrive_whole_and_in_order(
            lengths in proptest::collection::vec(0..200_000_usize, 1..12),
        ) {
            let (one, other) = pair();
            let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
            let content = |number: usize, length: usize| vec![number as u8; length];
            for (number, length) in lengths.iter().enumerate() {
                let bytes = content(number, *length);
                let (front, behind) = bytes.split_at(length / 3);
                outbox.push(&one, Kind::Message, &[front, behind]).unwrap();
            }
            let mut got = Vec::new();
            for (number, length) in lengths.iter().enumerate() {
                loop {
                    outbox.flush(&one).unwrap();
                    match inbox.take(&other, BYTES_MAX, &mut got).unwrap() {
                        Received::Frame(kind) => {
                            prop_assert_eq!(kind, Kind::Message);
                            break;
                        }
                        received => prop_assert_eq!(received, Received::Nothing),
                    }
                }
                prop_assert_eq!(&got, &content(number, *length));
            }
            prop_assert_eq!(outbox.backlog(), 0);
            one.end();
            prop_assert_eq!(inbox.take(&other, BYTES_MAX, &mut got).unwrap(), Received::End);
        }

        #[test]
        fn garbage_is_named_or_waited_for(bytes in proptest::collection::vec(any::<u8>(), 1..40)) {
            let (one, other) = UnixStream::pair().unwrap();
            let (mut one, other) = (one, connection(other));
            one.write_all(&bytes).unwrap();
            drop(one);
            let mut inbox = Inbox::default();
            let taken = inbox.take(&other, BYTES_MAX, &mut Vec::new());
            prop_assert!(matches!(taken, Err(StreamError::Garbage(_))), "{taken:?}");
        }
    }

    #[test]
    fn what_is_held_back_goes_before_what_is_sent() {
        let (one, other) = pair();
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        let mut content = Vec::new();
        assert!(outbox.hold(Kind::Message, &[b"first", b"!"]));
        assert!(!outbox.hold(Kind::Message, &[&[0; HELD_BYTES_MAX]]));
        let nothing = inbox.take(&other, BYTES_MAX, &mut content).unwrap();
        assert_eq!((nothing, outbox.backlog()), (Received::Nothing, 0));
        outbox.push(&one, Kind::Message, &[b"second"]).unwrap();
        assert!(outbox.hold(Kind::Message, &[b"third"]));
        outbox.flush(&one).unwrap();
        for expected in [&b"first!"[..], b"second", b"third"] {
            inbox.take(&other, BYTES_MAX, &mut content).unwrap();
            assert_eq!(content, expected);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_garbage() {
        let (one, other) = pair();
        let mut outbox = Outbox::default();
        outbox.push(&one, Kind::Message, &[&[0; 64]]).unwrap();
        let taken = Inbox::default().take(&other, 63, &mut Vec::new());
        assert!(matches!(taken, Err(StreamError::Garbage(_))));
    }

    #[test]
    fn whole_frames_in_the_buffer_are_known() {
        let (one, other) = pair();
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        let mut content = Vec::new();
        assert!(!inbox.has_frame());
        for kind in [Kind::Message, Kind::Depart] {
            outbox.push(&one, kind, &[b"some", b"thing"]).unwrap();
        }
        let first = inbox.take(&other, BYTES_MAX, &mut content).unwrap();
        assert_eq!(
            (first, &content[..]),
            (Received::Frame(Kind::Message), &b"something"[..])
        );
        assert!(inbox.has_frame());
        let second = inbox.take(&other, BYTES_MAX, &mut content).unwrap();
        assert_eq!(second, Received::Frame(Kind::Depart));
        assert!(!inbox.has_frame());
    }
}
