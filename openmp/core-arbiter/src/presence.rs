//! Which partners are there: what the kernel says, not what they say.

use std::fs;

/// A process: its number and when it began, so that a number that is used again is not
/// taken for the old process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Process number, at least 1.
    pub pid: u32,
    /// The lower half of the kernel's start time, in its ticks since boot.
    pub began: u32,
}

impl Owner {
    /// The calling process. None if the kernel does not say (no `/proc`).
    #[must_use]
    pub fn this_process() -> Option<Self> {
        let pid = std::process::id();
        Kernel.look(pid).map(|seen| Self {
            pid,
            began: seen.began,
        })
    }

    pub(crate) fn word(self) -> u64 {
        u64::from(self.pid) << 32 | u64::from(self.began)
    }

    pub(crate) fn from_word(word: u64) -> Option<Self> {
        let pid = (word >> 32) as u32;
        // More is no process number, and 0 would be whoever asks.
        (1..=i32::MAX as u32).contains(&pid).then_some(Self {
            pid,
            began: word as u32,
        })
    }
}

/// What the kernel says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// See [`Owner::began`].
    pub began: u32,
    /// State of its initial thread, as `ps` shows it.
    pub state: u8,
}

/// Who tells of processes.
pub trait Processes {
    /// What is known of a process; none if there is no such process.
    fn look(&mut self, pid: u32) -> Option<Seen>;
}

/// The kernel of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Processes for Kernel {
    fn look(&mut self, pid: u32) -> Option<Seen> {
        parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }
}

/// State and start time, fields 3 and 22. Field 2 is the program's name in parentheses,
/// which may hold anything.
fn parse(stat: &[u8]) -> Option<Seen> {
    let behind = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(stat.get(behind..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let began: u64 = fields.nth(18)?.parse().ok()?;
    Some(Seen {
        began: began as u32,
        state,
    })
}

/// How a partner is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// There is no such process any more.
    #[default]
    Gone,
    /// It is stopped, or its initial thread sleeps.
    Still {
        /// By a signal: not even its regions go on.
        stopped: bool,
        /// When that was seen, nanoseconds of the monotonic clock.
        seen_ns: u64,
    },
    /// It runs.
    Running,
}

/// Time between two questions to the kernel about the same partner, nanoseconds: an answer
/// costs some 10 us.
pub const PERIOD_NS: u64 = 20_000_000;

/// What is known of a partner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    owner: Option<Owner>,
    presence: Presence,
    asked_ns: u64,
}

impl Watch {
    /// How the process is that has a slot now. Asks the kernel if somebody else has it than
    /// before, or the last answer is old.
    pub fn look(
        &mut self,
        owner: Option<Owner>,
        now_ns: u64,
        processes: &mut impl Processes,
    ) -> Presence {
        let Some(named) = owner else {
            *self = Self::default();
            return Presence::Gone;
        };
        if self.owner == owner && now_ns.saturating_sub(self.asked_ns) < PERIOD_NS {
            return self.presence;
        }
        let seen = processes.look(named.pid);
        self.presence = match seen.filter(|seen| seen.began == named.began) {
            None => Presence::Gone,
            Some(Seen { state, .. }) => match state {
                b'R' => Presence::Running,
                b'Z' | b'X' | b'x' => Presence::Gone,
                state => Presence::Still {
                    stopped: matches!(state, b'T' | b't'),
                    seen_ns: now_ns,
                },
            },
        };
        self.owner = owner;
        self.asked_ns = now_ns;
        self.presence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_do_not_confuse() {
        let line = b"77 (a) R (b) T 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4294967301 20\n";
        let seen = parse(line).unwrap();
        assert_eq!((seen.state, seen.began), (b'T', 5));
        for length in 0..line.len() - 5 {
            let _ = parse(&line[..length]);
        }
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"1 (x)"), None);
    }

    #[test]
    fn this_process_is_there_and_another_of_its_number_is_not() {
        let me = Owner::this_process().unwrap();
        assert_eq!(Owner::from_word(me.word()), Some(me));
        let mut watch = Watch::default();
        assert_ne!(watch.look(Some(me), 0, &mut Kernel), Presence::Gone);
        let other = Owner {
            began: me.began ^ 1,
            ..me
        };
        assert_eq!(watch.look(Some(other), 0, &mut Kernel), Presence::Gone);
        assert_eq!(watch.look(None, 0, &mut Kernel), Presence::Gone);
    }

    #[test]
    fn the_kernel_is_asked_at_a_bounded_rate() {
        struct Counted(u32);
        impl Processes for Counted {
            fn look(&mut self, _: u32) -> Option<Seen> {
                self.0 += 1;
                Some(Seen {
                    began: 3,
                    state: b'R',
                })
            }
        }
        let mut counted = Counted(0);
        let mut watch = Watch::default();
        let owner = Some(Owner { pid: 9, began: 3 });
        for now in 0..100 {
            let presence = watch.look(owner, now * PERIOD_NS / 10, &mut counted);
            assert_eq!(presence, Presence::Running);
        }
        assert_eq!(counted.0, 10);
    }
}
