//! Messages from processes to a collector, and from the collector of a node to one on another
//! host. The same on sockets for messages and on streams of bytes.
//!
//! ```text
//! header (24 bytes, little endian): mark 4, kind 4, bytes 4, channel 4, position 8 | bytes
//! ```

use crate::facts::Facts;
use serde::{Deserialize, Serialize};

/// Version of messages.
pub const VERSION: u32 = 1;
/// Bytes of a header.
pub const HEADER_BYTES: usize = 24;
/// Longer messages are not sent, so a longer one is damage.
pub const BODY_BYTES_MOST: usize = 1 << 20;
/// Name of the collector's socket for messages within the live directory.
pub const SOCKET: &str = "collector";
/// First bytes of a message.
const MARK: [u8; 4] = *b"FTAP";

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// First message of whoever connects: a [`Hello`].
    Hello = 1,
    /// Answer to a hello: a [`Welcome`].
    Welcome = 2,
    /// Answer to a hello: a sentence that says why not.
    Refused = 3,
    /// Asks for the time; answered by [`Kind::Pong`].
    Ping = 4,
    /// The time, in the place of the position: nanoseconds since the Unix epoch.
    Pong = 5,
    /// How the sender's clock stands: a [`ClockNote`].
    Clock = 6,
    /// Names, numbered on from the position, each ended by a zero byte.
    Names = 7,
    /// Words of a channel, from the position on.
    Words = 8,
    /// What a process says about itself: [`Facts`]. The last one counts.
    Facts = 9,
    /// Bytes of a file, from the position on. The channel numbers files, in the order in
    /// which they were [opened](Kind::Open).
    Data = 10,
    /// A file begins: its name.
    Open = 11,
    /// Nothing more will come; asks for [`Kind::Kept`].
    Done = 12,
    /// Everything was kept, so many bytes (in the place of the position).
    Kept = 13,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::Hello,
        Self::Welcome,
        Self::Refused,
        Self::Ping,
        Self::Pong,
        Self::Clock,
        Self::Names,
        Self::Words,
        Self::Facts,
        Self::Data,
        Self::Open,
        Self::Done,
        Self::Kept,
    ];
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// Bytes that follow.
    pub bytes: usize,
    /// Channel (slot of a process, or file), where that applies.
    pub channel: u32,
    /// Position, where that applies.
    pub position: u64,
}

/// Bytes that are no header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was sent is not a message of fathomp")]
pub struct NoMessage;

impl Header {
    /// A message without a position.
    #[must_use]
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            bytes: 0,
            channel: 0,
            position: 0,
        }
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MARK);
        bytes[4..8].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&(self.bytes as u32).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.channel.to_le_bytes());
        bytes[16..].copy_from_slice(&self.position.to_le_bytes());
        bytes
    }

    /// From bytes.
    ///
    /// # Errors
    /// If they are none, or claim to be longer than messages are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NoMessage> {
        let bytes: &[u8; HEADER_BYTES] = bytes
            .get(..HEADER_BYTES)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(NoMessage)?;
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(word)
        };
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u32 == word(4));
        let length = word(8) as usize;
        match kind {
            Some(kind) if bytes[..4] == MARK && length <= BODY_BYTES_MOST => Ok(Self {
                kind,
                bytes: length,
                channel: word(12),
                position: u64::from(word(16)) | u64::from(word(20)) << 32,
            }),
            _ => Err(NoMessage),
        }
    }
}

/// Puts a whole message in the place of whatever `out` holds. Bodies beyond
/// [`BODY_BYTES_MOST`] are not sent, so callers divide them.
pub fn put(out: &mut Vec<u8>, header: Header, body: &[u8]) {
    let header = Header {
        bytes: body.len(),
        ..header
    };
    out.clear();
    out.extend(header.to_bytes());
    out.extend(body);
}

/// Puts a whole message with a note as JSON in the place of whatever `out` holds.
pub fn put_note(out: &mut Vec<u8>, kind: Kind, note: &impl Serialize) {
    // Numbers, strings and lists have no keys or floats that JSON could refuse.
    let json = serde_json::to_vec(note).unwrap_or_default();
    put(out, Header::of(kind), &json);
}

/// Puts a whole message with words of a channel in the place of whatever `out` holds.
pub fn put_words(out: &mut Vec<u8>, channel: u32, position: u64, words: &[u64]) {
    let header = Header {
        kind: Kind::Words,
        bytes: words.len() * 8,
        channel,
        position,
    };
    out.clear();
    out.extend(header.to_bytes());
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

/// The words of a body.
pub fn words(body: &[u8]) -> impl Iterator<Item = u64> {
    body.chunks_exact(8).map(|chunk| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    })
}

/// Who connects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// The recording's key ([`Setup::key`](fathomp_paging::setup::Setup::key)), or that of
    /// the collector on another host.
    pub key: String,
    /// Name of the sender's host.
    pub host: String,
    /// What the kernel calls its present run; hosts with the same have the same clock.
    pub boot: String,
    /// Who the sender is.
    pub role: Role,
}

/// Who connects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A process that is recorded.
    Process {
        /// Name of its ring file, without extension.
        stem: String,
        /// What it says about itself.
        facts: Box<Facts>,
    },
    /// The collector of a node, which forwards what it collects.
    Node,
}

/// The answer to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Name of the answering host.
    pub host: String,
    /// What its kernel calls its present run.
    pub boot: String,
}

/// How far the sender's clock is from the receiver's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockNote {
    /// What to add to the sender's wall-clock time to get the receiver's, nanoseconds.
    pub offset_ns: i64,
    /// Largest error of that: half the shortest round trip, nanoseconds.
    pub uncertainty_ns: u64,
}

/// Estimates how far the own clock is from a peer's.
///
/// Each ping gives the own time before and after, and the peer's in between. The shortest
/// round trip says most; the peer's clock is then off by what it says minus the middle, give
/// or take half the round trip (Cristian 1989).
#[derive(Clone, Copy, Debug, Default)]
pub struct PingPong {
    best: Option<(u64, ClockNote)>,
}

impl PingPong {
    /// Round trips to make.
    pub const TRIPS: usize = 16;

    /// Takes a round trip: own time when it began and ended, and the peer's time in between,
    /// all in nanoseconds.
    pub fn trip(&mut self, sent_ns: u64, peer_ns: u64, back_ns: u64) {
        let round_ns = back_ns.saturating_sub(sent_ns);
        if self.best.is_some_and(|(best_ns, _)| best_ns <= round_ns) {
            return;
        }
        let middle_ns = sent_ns.saturating_add(round_ns / 2);
        let note = ClockNote {
            offset_ns: peer_ns.wrapping_sub(middle_ns).cast_signed(),
            uncertainty_ns: round_ns.div_ceil(2),
        };
        self.best = Some((round_ns, note));
    }

    /// The best estimate, if there was a round trip.
    #[must_use]
    pub fn note(&self) -> Option<ClockNote> {
        self.best.map(|(_, note)| note)
    }
}

/// What the kernel calls its present run; empty if it does not say.
#[must_use]
pub fn boot() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// Name of this host; empty if the kernel does not say.
#[must_use]
pub fn host() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/hostname");
    read.map_or_else(|_| String::new(), |name| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_come_back_as_written() {
        let mut out = Vec::new();
        put_words(&mut out, 3, 1 << 40, &[1, u64::MAX]);
        let header = Header::from_bytes(&out).unwrap();
        let expected = Header {
            kind: Kind::Words,
            bytes: 16,
            channel: 3,
            position: 1 << 40,
        };
        assert_eq!(header, expected);
        let read: Vec<_> = words(&out[HEADER_BYTES..]).collect();
        assert_eq!(read, [1, u64::MAX]);
    }

    #[test]
    fn kinds_and_numbers_are_one_to_one() {
        for kind in Kind::ALL {
            let header = Header::of(kind);
            assert_eq!(Header::from_bytes(&header.to_bytes()), Ok(header));
        }
    }

    #[test]
    fn a_message_that_claims_to_be_too_long_is_none() {
        let mut bytes = Header::of(Kind::Words).to_bytes();
        bytes[8..12].copy_from_slice(&(BODY_BYTES_MOST as u32 + 1).to_le_bytes());
        assert_eq!(Header::from_bytes(&bytes), Err(NoMessage));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Header::from_bytes(&bytes);
        }

        /// Whatever the two ways take, the true offset lies within what is said.
        #[test]
        fn the_offset_is_right_within_its_uncertainty(
            offset in -1_000_000_000_000_i64..1_000_000_000_000,
            trips in proptest::collection::vec((0..10_000_000_u64, 0..10_000_000_u64), 1..20),
        ) {
            let mut pings = PingPong::default();
            let mut now = 1_000_000_000_000_000_000_u64;
            for (there, back) in trips {
                let peer = (now + there).wrapping_add_signed(offset);
                pings.trip(now, peer, now + there + back);
                now += there + back + 1;
            }
            let note = pings.note().unwrap();
            // Halving rounds by up to one.
            prop_assert!(note.offset_ns.abs_diff(offset) <= note.uncertainty_ns + 1);
        }
    }
}
