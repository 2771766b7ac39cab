//! A stack that ran out, as a recording keeps it and as users are told of it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Whose stack it was: that decides where its size is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackOwner {
    /// The thread that the process began with.
    Initial,
    /// A thread of the OpenMP runtime.
    Worker,
    /// A thread that the program had started itself.
    Program,
}

/// A thread whose stack ran out, which ended its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackOverflow {
    /// Its number in the innermost parallel region that it was in.
    pub thread: u32,
    /// Threads of that region; 1 outside of all.
    pub team_size: u32,
    /// Whose stack it was.
    pub owner: StackOwner,
    /// The stack's size in bytes.
    pub had_bytes: u64,
    /// Bytes that the thread had asked for when it stopped.
    pub needed_bytes: u64,
    /// It went beyond the end in a small step, as recursion does: more was to
    /// come, nobody knows how much.
    pub at_least: bool,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl StackOverflow {
    /// A size in bytes, whole MiB, that would have done: with room for what
    /// the procedure would have called. If the need is not known, a size worth
    /// trying.
    #[must_use]
    pub fn enough_bytes(&self) -> u64 {
        let needed = self.needed_bytes.max(self.had_bytes);
        let generous = if self.at_least {
            needed.saturating_mul(4)
        } else {
            needed.saturating_add(needed / 4).saturating_add(MIB)
        };
        generous
            .checked_next_power_of_two()
            .unwrap_or(generous)
            .max(MIB)
    }

    /// The words in which a ring file keeps it; never all zero.
    pub(crate) fn to_words(self) -> [u64; 4] {
        let owner = match self.owner {
            StackOwner::Initial => 1,
            StackOwner::Worker => 2,
            StackOwner::Program => 3,
        };
        [
            u64::from(self.thread) | u64::from(self.team_size) << 32,
            self.had_bytes,
            self.needed_bytes,
            owner | u64::from(self.at_least) << 8,
        ]
    }

    /// From the words of a ring file; `None` if nothing was put there.
    pub(crate) fn from_words([team, had_bytes, needed_bytes, how]: [u64; 4]) -> Option<Self> {
        let owner = match how & 0xff {
            1 => StackOwner::Initial,
            2 => StackOwner::Worker,
            3 => StackOwner::Program,
            _ => return None,
        };
        Some(Self {
            thread: team as u32,
            team_size: (team >> 32) as u32,
            owner,
            had_bytes,
            needed_bytes,
            at_least: how >> 8 & 1 != 0,
        })
    }
}

/// Bytes with a unit, rounded up.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes < MIB => write!(f, "{} KiB", bytes.div_ceil(KIB)),
            bytes => write!(f, "{} MiB", bytes.div_ceil(MIB)),
        }
    }
}

/// One clause that says what happened and what mends it. Writing it neither
/// allocates nor locks, unless the formatter does.
impl fmt::Display for StackOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.owner, self.team_size) {
            (StackOwner::Initial, 0 | 1) => f.write_str("the initial thread")?,
            (StackOwner::Initial, _) => {
                write!(f, "OpenMP thread {}, the initial thread,", self.thread)?;
            }
            (StackOwner::Worker, _) => write!(f, "OpenMP thread {}", self.thread)?,
            (StackOwner::Program, _) => f.write_str("a thread that the program had started")?,
        }
        let had = Size(self.had_bytes);
        write!(f, " ran out of stack: ")?;
        if self.at_least {
            write!(f, "recursion without end, or more than {had} needed; ")?;
        } else {
            let needed = Size(self.needed_bytes);
            write!(f, "it had {had} and needed {needed} and more; ")?;
        }
        let enough = self.enough_bytes();
        let (mib, kib) = (enough / MIB, enough / KIB);
        let verb = if self.at_least { "try" } else { "set" };
        match self.owner {
            StackOwner::Initial => {
                let verb = if self.at_least { "try" } else { "run" };
                write!(f, "{verb} `ulimit -s {kib}` first")?;
                if self.team_size > 1 {
                    write!(f, ", with OMP_STACKSIZE={mib}M for the other threads")?;
                }
                Ok(())
            }
            StackOwner::Worker => {
                write!(f, "{verb} OMP_STACKSIZE={mib}M")?;
                if self.team_size > 1 {
                    write!(f, ", with `ulimit -s {kib}` for the initial thread")?;
                }
                Ok(())
            }
            StackOwner::Program => write!(
                f,
                "{verb} {mib} MiB where it starts that thread (pthread_attr_setstacksize), or `ulimit -s {kib}`"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(had: u64, needed: u64, at_least: bool) -> StackOverflow {
        StackOverflow {
            thread: 3,
            team_size: 4,
            owner: StackOwner::Worker,
            had_bytes: had,
            needed_bytes: needed,
            at_least,
        }
    }

    #[test]
    fn what_is_named_is_more_than_what_was_needed() {
        for needed in [
            1,
            100 * KIB,
            9 * MIB,
            22 * MIB,
            31 * MIB,
            5000 * MIB,
            u64::MAX,
        ] {
            for at_least in [false, true] {
                let overflow = worker(2 * MIB, needed, at_least);
                assert!(overflow.enough_bytes() >= needed.max(2 * MIB));
            }
        }
        assert_eq!(worker(8 * MIB, 24 * MIB, false).enough_bytes(), 32 * MIB);
        assert_eq!(worker(8 * MIB, 8 * MIB + 8, true).enough_bytes(), 64 * MIB);
    }

    #[test]
    fn the_sentence_names_the_thread_and_its_setting() {
        let said = worker(8 * MIB, 23 * MIB + 5, false).to_string();
        assert_eq!(
            said,
            "OpenMP thread 3 ran out of stack: it had 8 MiB and needed 24 MiB and more; \
             set OMP_STACKSIZE=32M, with `ulimit -s 32768` for the initial thread"
        );
        let initial = StackOverflow {
            owner: StackOwner::Initial,
            team_size: 1,
            ..worker(8 * MIB, 8 * MIB + 8, true)
        };
        assert_eq!(
            initial.to_string(),
            "the initial thread ran out of stack: recursion without end, or more than 8 MiB \
             needed; try `ulimit -s 65536` first"
        );
    }

    #[test]
    fn words_of_a_ring_file_keep_it() {
        for owner in [StackOwner::Initial, StackOwner::Worker, StackOwner::Program] {
            for at_least in [false, true] {
                let overflow = StackOverflow {
                    owner,
                    ..worker(8 * MIB, 24 * MIB, at_least)
                };
                assert_eq!(
                    StackOverflow::from_words(overflow.to_words()),
                    Some(overflow)
                );
            }
        }
        assert_eq!(StackOverflow::from_words([0; 4]), None);
        assert_eq!(StackOverflow::from_words([u64::MAX; 4]), None);
    }
}
