//! What the runtimes of two nodes write each other about tasks, as bytes: a kind and then
//! words. The receiver checks all of it.

use super::ledger::{Node, Note};

/// Words of arguments that a task may take along. Those with more stay.
pub(super) const WORDS_MAX: usize = 512;
/// Tasks in a batch.
pub(super) const BATCH_MAX: usize = 32;
/// Tasks that one letter asks for.
pub(super) const BACK_MAX: usize = 256;

/// A task that has been created and not begun, on its way to another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parcel {
    /// Its number at the node that sends it.
    pub(super) number: u64,
    /// The task of the receiver that it descends from, by the receiver's number; 0 if none is
    /// known.
    pub(super) below: u64,
    pub(super) function: u64,
    pub(super) priority: u32,
    pub(super) depth: u32,
    /// Its descendants are final, too.
    pub(super) is_final: bool,
    /// Somebody waits for it and its descendants as for one taskgroup.
    pub(super) in_group: bool,
    /// That group is cancelled.
    pub(super) is_cancelled: bool,
    /// Where the reductions of that group are described; 0 if nowhere.
    pub(super) reductions: u64,
    /// Alignment of the arguments, in bytes; 0 if they stay where they are.
    pub(super) align: u32,
    /// The arguments, or their address.
    pub(super) words: Vec<u64>,
}

/// What has become of a task that another node gave away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// Its number there.
    pub(super) number: u64,
    /// It is complete.
    pub(super) ended: bool,
    /// It and its descendants have left their taskgroup.
    pub(super) left_group: bool,
    /// They have cancelled it.
    pub(super) cancelled: bool,
    /// Time from its begin to its end.
    pub(super) took_ns: u64,
}

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Letter {
    Note {
        epoch: u32,
        note: Note,
    },
    /// Threads of mine wait for these tasks, which I gave you: for all that I say from now on.
    Waits {
        epoch: u32,
        tasks: Vec<u64>,
    },
    /// Tasks for you, and tasks of yours, by your numbers, that come back as they were.
    Batch {
        parcels: Vec<Parcel>,
        home: Vec<u64>,
    },
    /// What has become of tasks of yours. What they have written is released.
    Reports {
        reports: Vec<Report>,
        /// A batch is paid back.
        pays: bool,
    },
    /// The taskgroup of these tasks, which I gave you, is cancelled.
    Cancelled {
        tasks: Vec<u64>,
    },
}

/// Bytes that are no letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it has sent {bytes} bytes about tasks that make no sense: do all nodes run the same fathomp?"
)]
pub struct BadLetter {
    pub(super) bytes: usize,
}

const IDLE: u64 = 0;
const HOLDS: u64 = 1;
const WANTED: u64 = 2;
const WAITS: u64 = 3;
const BATCH: u64 = 4;
const REPORTS: u64 = 5;
const CANCELLED: u64 = 6;

const FINAL: u64 = 1;
const IN_GROUP: u64 = 2;
const IS_CANCELLED: u64 = 4;

const ENDED: u64 = 1;
const LEFT_GROUP: u64 = 2;
const CANCELS: u64 = 4;

fn both(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl Letter {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut words = Vec::with_capacity(8);
        match self {
            Self::Note { epoch, note } => {
                let (kind, node) = match note {
                    Note::Idle => (IDLE, 0),
                    Note::Holds => (HOLDS, 0),
                    Note::Wanted(node) => (WANTED, *node),
                };
                words.extend([kind, both(*epoch, node)]);
            }
            Self::Waits { epoch, tasks } => {
                words.extend([WAITS, u64::from(*epoch)]);
                words.extend(tasks);
            }
            Self::Cancelled { tasks } => {
                words.push(CANCELLED);
                words.extend(tasks);
            }
            Self::Batch { parcels, home } => {
                words.extend([BATCH, both(parcels.len() as u32, home.len() as u32)]);
                words.extend(home);
                for parcel in parcels {
                    parcel.encode(&mut words);
                }
            }
            Self::Reports { reports, pays } => {
                words.extend([REPORTS, u64::from(*pays)]);
                for report in reports {
                    let bit = |is: bool, bit| if is { bit } else { 0 };
                    let flags = bit(report.ended, ENDED)
                        | bit(report.left_group, LEFT_GROUP)
                        | bit(report.cancelled, CANCELS);
                    words.extend([report.number, flags, report.took_ns]);
                }
            }
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, BadLetter> {
        let bad = BadLetter { bytes: bytes.len() };
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(bad);
        }
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let mut reader = Reader(&words);
        reader.letter().filter(|_| reader.0.is_empty()).ok_or(bad)
    }
}

impl Parcel {
    fn encode(&self, words: &mut Vec<u64>) {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        let flags = bit(self.is_final, FINAL)
            | bit(self.in_group, IN_GROUP)
            | bit(self.is_cancelled, IS_CANCELLED);
        words.extend([
            self.number,
            self.below,
            self.function,
            both(self.priority, self.depth),
            flags,
            self.reductions,
            both(self.align, self.words.len() as u32),
        ]);
        words.extend(&self.words);
    }
}

struct Reader<'a>(&'a [u64]);

impl Reader<'_> {
    fn word(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn halves(&mut self) -> Option<(u32, u32)> {
        self.word().map(|word| ((word >> 32) as u32, word as u32))
    }

    fn words(&mut self, count: usize) -> Option<Vec<u64>> {
        let (words, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(words.to_vec())
    }

    fn rest(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.0).to_vec()
    }

    fn letter(&mut self) -> Option<Letter> {
        Some(match self.word()? {
            kind @ (IDLE | HOLDS | WANTED) => {
                let (epoch, node): (u32, Node) = self.halves()?;
                let note = match kind {
                    WANTED => Note::Wanted(node),
                    _ if node != 0 => return None,
                    IDLE => Note::Idle,
                    _ => Note::Holds,
                };
                Letter::Note { epoch, note }
            }
            WAITS => Letter::Waits {
                epoch: u32::try_from(self.word()?).ok()?,
                tasks: self.rest(),
            },
            CANCELLED => Letter::Cancelled { tasks: self.rest() },
            BATCH => {
                let (parcels, home) = self.halves()?;
                let home = self.words(home as usize)?;
                let parcels = (0..parcels).map(|_| self.parcel()).collect::<Option<_>>()?;
                Letter::Batch { parcels, home }
            }
            REPORTS => {
                let pays = flag(self.word()?)?;
                let mut reports = Vec::new();
                while !self.0.is_empty() {
                    reports.push(self.report()?);
                }
                Letter::Reports { reports, pays }
            }
            _ => return None,
        })
    }

    fn parcel(&mut self) -> Option<Parcel> {
        let (number, below, function) = (self.word()?, self.word()?, self.word()?);
        let (priority, depth) = self.halves()?;
        let flags = self.word()?;
        let reductions = self.word()?;
        let (align, count) = self.halves()?;
        let aligned = align == 0 && count == 1 || align.is_power_of_two() && align >= 8;
        if flags > FINAL | IN_GROUP | IS_CANCELLED || !aligned || count as usize > WORDS_MAX {
            return None;
        }
        Some(Parcel {
            number,
            below,
            function,
            priority,
            depth,
            is_final: flags & FINAL != 0,
            in_group: flags & IN_GROUP != 0,
            is_cancelled: flags & IS_CANCELLED != 0,
            reductions,
            align,
            words: self.words(count as usize)?,
        })
    }

    fn report(&mut self) -> Option<Report> {
        let (number, flags, took_ns) = (self.word()?, self.word()?, self.word()?);
        (flags <= ENDED | LEFT_GROUP | CANCELS).then_some(Report {
            number,
            ended: flags & ENDED != 0,
            left_group: flags & LEFT_GROUP != 0,
            cancelled: flags & CANCELS != 0,
            took_ns,
        })
    }
}

/// Whether bytes are a letter of another node, for the fuzz harness (`fuzz/`).
#[doc(hidden)]
pub fn is_letter(bytes: &[u8]) -> Result<(), String> {
    let letter = Letter::decode(bytes).map_err(|bad| bad.to_string())?;
    assert_eq!(letter.encode(), bytes, "a letter changed");
    Ok(())
}

fn flag(word: u64) -> Option<bool> {
    match word {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parcel() -> impl Strategy<Value = Parcel> {
        let words = prop::collection::vec(any::<u64>(), 0..40);
        (
            any::<[u64; 4]>(),
            any::<[u32; 2]>(),
            any::<[bool; 3]>(),
            3_u32..12,
            words,
        )
            .prop_map(
                |(
                    [number, below, function, reductions],
                    [priority, depth],
                    [is_final, in_group, is_cancelled],
                    bits,
                    words,
                )| {
                    Parcel {
                        number,
                        below,
                        function,
                        priority,
                        depth,
                        is_final,
                        in_group,
                        is_cancelled,
                        reductions,
                        align: 1 << bits,
                        words,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn letters_come_out_as_they_went_in(
            parcels in prop::collection::vec(parcel(), 0..4), numbers in prop::collection::vec(any::<u64>(), 0..9),
            epoch: u32, node: u32, pays: bool, ended: bool, left_group: bool, cancelled: bool,
        ) {
            let reports = numbers.iter().map(|&number| Report {
                number, ended, left_group, cancelled, took_ns: number ^ 5,
            });
            for letter in [
                Letter::Note { epoch, note: Note::Idle },
                Letter::Note { epoch, note: Note::Holds },
                Letter::Note { epoch, note: Note::Wanted(node) },
                Letter::Waits { epoch, tasks: numbers.clone() },
                Letter::Cancelled { tasks: numbers.clone() },
                Letter::Reports { reports: reports.collect(), pays },
                Letter::Batch { parcels, home: numbers.clone() },
            ] {
                prop_assert_eq!(Letter::decode(&letter.encode()), Ok(letter));
            }
        }

        #[test]
        fn anything_is_read_or_refused(words in prop::collection::vec(0_u64..9, 0..40), cut in 0_usize..8) {
            let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
            let _ = Letter::decode(&bytes[..bytes.len().saturating_sub(cut)]);
        }
    }
}
