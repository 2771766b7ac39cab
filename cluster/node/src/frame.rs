//! What nodes tell each other: the protocol's messages and the runtime's own.

use fathomp_omp::cluster::PartedLoop;
use fathomp_types::{NodeId, ThreadId};

/// A message between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// For the protocol.
    Protocol(&'a [u8]),
    /// To node 0: add to a cell and tell me what was there.
    Add {
        thread: ThreadId,
        epoch: u32,
        cell: u64,
        amount: u64,
    },
    /// To node 0: give me units of a loop that is dealt by parts.
    Deal {
        thread: ThreadId,
        epoch: u32,
        cell: u64,
        parted: PartedLoop,
        most: u64,
    },
    /// To node 0: a cell has this value now.
    Put { epoch: u32, cell: u64, value: u64 },
    /// To node 0: tell me when a cell has at least this value.
    Await {
        thread: ThreadId,
        epoch: u32,
        cell: u64,
        at_least: u64,
    },
    /// To the node that alone raises a cell: tell me when it has at least this value, and I can
    /// see what was written there before.
    AwaitPost {
        thread: ThreadId,
        epoch: u32,
        cell: u64,
        at_least: u64,
    },
    /// To a block's owner: how large is it?
    SizeOf { thread: ThreadId, address: u64 },
    /// To a block's owner: it is free.
    Free { address: u64 },
    /// What a thread has asked for.
    Answer { thread: ThreadId, value: u64 },
    /// To node 0: I have come to that barrier with this word.
    Arrived { epoch: u32, word: u64 },
    /// From node 0: all have come; their words, or-ed, and the order for the
    /// next region, if there is one.
    Passed { word: u64, order: &'a [u8] },
    /// That region is cancelled.
    Cancel { region: u64 },
    /// Let others see what your threads have written, and tell me when that is done.
    Publish { thread: ThreadId },
    /// To node 0: what I have written you know by now; tell that thread of that node this.
    Published {
        node: NodeId,
        thread: ThreadId,
        value: u64,
    },
    /// To node 0: the program called `exit` here.
    Exit { code: i32 },
    /// To node 0, which looks for races: what I changed in a page.
    Changed(&'a [u8]),
    /// From node 0: the program has ended.
    Leave,
    /// For the runtime: about tasks that leave their node.
    Tasks(&'a [u8]),
}

/// Bytes that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of {length} bytes that begins with {kind:?} makes no sense")]
pub(crate) struct BadFrame {
    length: usize,
    kind: Option<u8>,
}

/// Words that a frame without a body has at most.
const WORDS: usize = 5;

/// A frame's fixed part, ready to be sent before its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    bytes: [u8; 1 + WORDS * 8],
    length: usize,
}

impl Head {
    fn new(kind: u8, words: &[u64]) -> Self {
        let mut bytes = [0; 1 + WORDS * 8];
        bytes[0] = kind;
        let slots = bytes[1..].chunks_exact_mut(8);
        for (slot, word) in slots.zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        Self {
            bytes,
            length: 1 + words.len().min(WORDS) * 8,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl<'a> Frame<'a> {
    /// The fixed part and the body.
    pub(crate) fn parts(self) -> (Head, &'a [u8]) {
        let none: &[u8] = &[];
        let of = |kind, words: &[u64]| Head::new(kind, words);
        match self {
            Self::Protocol(body) => (of(0, &[]), body),
            Self::Passed { word, order } => (of(1, &[word]), order),
            Self::Leave => (of(2, &[]), none),
            Self::Changed(body) => (of(12, &[]), body),
            Self::Tasks(body) => (of(16, &[]), body),
            Self::Exit { code } => (of(3, &[u64::from(code.cast_unsigned())]), none),
            Self::Free { address } => (of(4, &[address]), none),
            Self::Answer { thread, value } => (of(5, &[thread.0.into(), value]), none),
            Self::Publish { thread } => (of(14, &[thread.0.into()]), none),
            Self::Published {
                node,
                thread,
                value,
            } => (of(15, &[node.0.into(), thread.0.into(), value]), none),
            Self::SizeOf { thread, address } => (of(6, &[thread.0.into(), address]), none),
            Self::Put { epoch, cell, value } => (of(7, &[epoch.into(), cell, value]), none),
            Self::Arrived { epoch, word } => (of(10, &[epoch.into(), word]), none),
            Self::Cancel { region } => (of(11, &[region]), none),
            Self::Add {
                thread,
                epoch,
                cell,
                amount,
            } => (of(8, &[thread.0.into(), epoch.into(), cell, amount]), none),
            Self::Deal {
                thread,
                epoch,
                cell,
                parted,
                most,
            } => {
                let both = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
                let (who, members) = (both(epoch, thread.0), both(parted.each, parted.members));
                (of(13, &[who, cell, parted.units, members, most]), none)
            }
            Self::Await {
                thread,
                epoch,
                cell,
                at_least,
            } => (
                of(9, &[thread.0.into(), epoch.into(), cell, at_least]),
                none,
            ),
            Self::AwaitPost {
                thread,
                epoch,
                cell,
                at_least,
            } => (
                of(17, &[thread.0.into(), epoch.into(), cell, at_least]),
                none,
            ),
        }
    }

    /// Reads what [`Frame::parts`] made.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, BadFrame> {
        let bad = BadFrame {
            length: bytes.len(),
            kind: bytes.first().copied(),
        };
        let (kind, body) = bytes.split_first().ok_or(bad)?;
        let words = |count: usize| {
            let mut words = [0_u64; WORDS];
            if body.len() != count * 8 {
                return Err(bad);
            }
            for (word, bytes) in words.iter_mut().zip(body.chunks_exact(8)) {
                *word = bytes.try_into().map(u64::from_le_bytes).map_err(|_| bad)?;
            }
            Ok(words)
        };
        let small = |word: u64| u32::try_from(word).map_err(|_| bad);
        let thread = |word: u64| small(word).map(ThreadId);
        Ok(match kind {
            0 => Self::Protocol(body),
            1 => {
                let (word, order) = body.split_first_chunk().ok_or(bad)?;
                Self::Passed {
                    word: u64::from_le_bytes(*word),
                    order,
                }
            }
            2 => words(0).map(|_| Self::Leave)?,
            12 => Self::Changed(body),
            16 => Self::Tasks(body),
            3 => Self::Exit {
                code: small(words(1)?[0])?.cast_signed(),
            },
            4 => Self::Free {
                address: words(1)?[0],
            },
            5 => {
                let [who, value, ..] = words(2)?;
                Self::Answer {
                    thread: thread(who)?,
                    value,
                }
            }
            6 => {
                let [who, address, ..] = words(2)?;
                Self::SizeOf {
                    thread: thread(who)?,
                    address,
                }
            }
            7 => {
                let [epoch, cell, value, ..] = words(3)?;
                Self::Put {
                    epoch: small(epoch)?,
                    cell,
                    value,
                }
            }
            8 => {
                let [who, epoch, cell, amount, _] = words(4)?;
                Self::Add {
                    thread: thread(who)?,
                    epoch: small(epoch)?,
                    cell,
                    amount,
                }
            }
            9 => {
                let [who, epoch, cell, at_least, _] = words(4)?;
                Self::Await {
                    thread: thread(who)?,
                    epoch: small(epoch)?,
                    cell,
                    at_least,
                }
            }
            13 => {
                let [who, cell, units, members, most] = words(5)?;
                let both = |word: u64| ((word >> 32) as u32, word as u32);
                let ((epoch, thread), (each, members)) = (both(who), both(members));
                Self::Deal {
                    thread: ThreadId(thread),
                    epoch,
                    cell,
                    parted: PartedLoop {
                        units,
                        each,
                        members,
                    },
                    most,
                }
            }
            10 => {
                let [epoch, word, ..] = words(2)?;
                Self::Arrived {
                    epoch: small(epoch)?,
                    word,
                }
            }
            14 => Self::Publish {
                thread: thread(words(1)?[0])?,
            },
            17 => {
                let [who, epoch, cell, at_least, _] = words(4)?;
                Self::AwaitPost {
                    thread: thread(who)?,
                    epoch: small(epoch)?,
                    cell,
                    at_least,
                }
            }
            15 => {
                let [node, who, value, ..] = words(3)?;
                Self::Published {
                    node: NodeId(u16::try_from(node).map_err(|_| bad)?),
                    thread: thread(who)?,
                    value,
                }
            }
            11 => Self::Cancel {
                region: words(1)?[0],
            },
            _ => return Err(bad),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(frame: Frame) -> Vec<u8> {
        let (head, body) = frame.parts();
        [head.bytes(), body].concat()
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in(
            a in any::<u32>(), b in any::<u32>(), c in any::<u64>(), d in any::<u64>(),
            body in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let thread = ThreadId(a);
            for frame in [
                Frame::Protocol(&body),
                Frame::Passed { word: c, order: &body },
                Frame::Leave,
                Frame::Tasks(&body),
                Frame::Cancel { region: d },
                Frame::Exit { code: a.cast_signed() },
                Frame::Free { address: c },
                Frame::Answer { thread, value: c },
                Frame::SizeOf { thread, address: c },
                Frame::Publish { thread },
                Frame::Published { node: NodeId(b as u16), thread, value: d },
                Frame::AwaitPost { thread, epoch: b, cell: c, at_least: d },
                Frame::Put { epoch: a, cell: c, value: d },
                Frame::Arrived { epoch: b, word: d },
                Frame::Add { thread, epoch: b, cell: c, amount: d },
                Frame::Await { thread, epoch: b, cell: c, at_least: d },
                Frame::Deal {
                    thread,
                    epoch: b,
                    cell: c,
                    parted: PartedLoop { units: d, each: b, members: a },
                    most: c,
                },
            ] {
                let sent = bytes(frame);
                prop_assert_eq!(Frame::read(&sent), Ok(frame));
            }
        }

        #[test]
        fn anything_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Frame::read(&bytes);
        }
    }
}
