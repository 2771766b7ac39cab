//! Why a run failed. One cause often shows in several ways and on several hosts at once, so
//! what comes within a moment is collected, and the best of it is said.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

/// How much a cause tells: of those that are known the first of these is said, and of several
/// reports the one that most nodes agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A rank is gone, and what has started it ends all others.
    Rank,
    /// A node says what happened to itself.
    OwnReport,
    /// A host cannot take part, or its agent is gone.
    Host,
    /// A program was killed by a signal.
    Signal,
    /// A node says what happened to another.
    Report,
    /// A program has ended by an exit code of its own, or too early.
    Exit,
}

/// A cause, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) kind: Kind,
    pub(super) sentence: String,
    /// The program did run.
    pub(super) ran: bool,
}

/// Causes, until one is said.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    known: Vec<Trouble>,
    until: Option<Instant>,
}

impl Troubles {
    /// One more.
    pub(super) fn add(&mut self, trouble: Trouble, now: Instant) {
        // Messages about the same death come by different ways, which differ by less than
        // this; a program that ends by an exit code may do so on all hosts.
        let wait = match trouble.kind {
            Kind::Exit => Duration::from_millis(1000),
            // A host whose link is down takes all others for dead: they outvote it.
            Kind::Report => Duration::from_millis(500),
            Kind::Rank => Duration::ZERO,
            Kind::OwnReport | Kind::Host | Kind::Signal => Duration::from_millis(200),
        };
        let until = now + wait;
        self.until = Some(self.until.map_or(until, |before| before.min(until)));
        self.known.push(trouble);
    }

    /// Programs that end by a code do so on all hosts: nothing went wrong.
    pub(super) fn forgive_exits(&mut self) {
        self.known.retain(|trouble| trouble.kind != Kind::Exit);
        if self.known.is_empty() {
            self.until = None;
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.known.is_empty()
    }

    /// What to say, if it is time to; `at_once` if nothing more can come.
    pub(super) fn due(&mut self, now: Instant, at_once: bool) -> Option<Trouble> {
        let due = self.until.is_some_and(|until| at_once || now >= until);
        due.then(|| {
            self.until = None;
            let mut known = std::mem::take(&mut self.known);
            let votes: Vec<usize> = known
                .iter()
                .map(|one| known.iter().filter(|other| *other == one).count())
                .collect();
            let best = (0..known.len()).min_by_key(|at| (known[*at].kind, Reverse(votes[*at])));
            best.map(|at| known.swap_remove(at))
        })
        .flatten()
    }
}
