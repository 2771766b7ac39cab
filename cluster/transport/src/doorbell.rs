//! Who has to be woken when a message arrives at a node: nobody if one of its
//! threads looks for messages anyway, else one that sleeps.
//!
//! A thread that looks for messages is counted as polling. Whoever pushes a
//! message reads that count afterwards; whoever stops polling, to sleep or to do
//! other things, looks for messages once more after it has left the count. Both
//! have a sequentially consistent fence between store and load, so a message is
//! always seen by somebody: by the thread that leaves, or by the sender, who
//! then wakes a sleeper.
//!
//! Waking takes a system call, so only the first of several senders makes it:
//! `called` says that a thread is on its way and will look. Sleepers clear it
//! *after* reading the word they will sleep on and before looking; senders raise
//! it *before* they change the word. So a call that a sleeper cleared without
//! noticing has changed the word it sleeps on, and it will not stay asleep. A
//! sender whose call reached nobody takes it back and calls anybody.

use crate::primitive::{AtomicU32, Ordering, fence, futex};

/// What a sleeping thread is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It handles messages so that others need not.
    Service,
    /// It waits for an answer; woken in preference, because it can then go on
    /// without another thread in between.
    Application,
}

impl Role {
    const ALL: [Self; 2] = [Self::Application, Self::Service];

    /// Bit that selects sleepers of this role.
    const fn mask(self) -> u32 {
        match self {
            Self::Service => 1,
            Self::Application => 2,
        }
    }
}

/// What a message's arrival took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The node's threads look for messages without being told.
    Polling,
    /// A sleeping thread had to be woken.
    Woken,
}

/// How long a thread may sleep, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// Not at all.
    Not,
    /// Until that moment.
    Until(u64),
    /// Until woken.
    UntilWoken,
}

impl Sleep {
    /// The shorter one.
    pub(crate) fn or_sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Not, _) | (_, Self::Not) => Self::Not,
            (Self::Until(a), Self::Until(b)) => Self::Until(a.min(b)),
            (Self::UntilWoken, sleep) | (sleep, Self::UntilWoken) => sleep,
        }
    }
}

/// A node's doorbell, shared by all nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doorbell<'a> {
    /// Changes with each waking; sleepers sleep on it.
    word: &'a AtomicU32,
    /// A sleeper has been woken and has not looked yet.
    called: &'a AtomicU32,
    polling: &'a AtomicU32,
    applications: &'a AtomicU32,
    services: &'a AtomicU32,
    /// There may be a message that cannot wait until a thread looks by itself.
    urgent: &'a AtomicU32,
}

impl<'a> Doorbell<'a> {
    /// 32-bit words it consists of.
    pub(crate) const HALVES: usize = 6;

    /// The doorbell in these words, zero at first.
    pub(crate) fn new(halves: &'a [AtomicU32]) -> Self {
        let [word, called, polling, applications, services, urgent, ..] = halves else {
            unreachable!("a doorbell has {} words", Self::HALVES);
        };
        Self {
            word,
            called,
            polling,
            applications,
            services,
            urgent,
        }
    }

    fn sleeping(&self, role: Role) -> &AtomicU32 {
        match role {
            Role::Application => self.applications,
            Role::Service => self.services,
        }
    }

    /// The calling thread begins to look for messages.
    #[inline]
    pub(crate) fn enter(&self) {
        self.polling.fetch_add(1, Ordering::Relaxed);
    }

    /// The calling thread stops looking. `left_over` says whether there are
    /// messages, which then are somebody else's to handle, unless all can wait.
    #[inline]
    pub(crate) fn leave(&self, left_over: impl FnOnce() -> bool) {
        self.polling.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.urgent.load(Ordering::Relaxed) != 0 && left_over() {
            self.call();
        }
    }

    /// A polling thread has found nothing. `left_over` says whether there is something
    /// nevertheless: what came last, or is on its way.
    #[inline]
    pub(crate) fn found_nothing(&self, left_over: impl Fn() -> bool) {
        if self.urgent.load(Ordering::Relaxed) == 0 || left_over() {
            return;
        }
        self.urgent.swap(0, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if left_over() {
            self.urgent.swap(1, Ordering::AcqRel);
        }
    }

    /// Tells the node that there is something new for it, which has been
    /// written before.
    #[inline]
    pub(crate) fn ring(&self) -> Wake {
        // What was written is seen by who makes this 0 after we have looked at it.
        fence(Ordering::SeqCst);
        if self.urgent.load(Ordering::Relaxed) == 0 {
            self.urgent.swap(1, Ordering::AcqRel);
            fence(Ordering::SeqCst);
        }
        self.call()
    }

    /// The same where it can wait until the node looks: wakes only who waits for an
    /// answer, which this may be.
    pub(crate) fn ring_softly(&self) -> Wake {
        fence(Ordering::SeqCst);
        let waiting = self.sleeping(Role::Application).load(Ordering::Relaxed) != 0;
        match waiting {
            // Not only a call: a thread that looks at present may leave before it sees this.
            true => self.ring(),
            false => Wake::Polling,
        }
    }

    #[inline]
    fn call(&self) -> Wake {
        if self.polling.load(Ordering::Relaxed) != 0 {
            return Wake::Polling;
        }
        let asleep = |role: &Role| self.sleeping(*role).load(Ordering::Relaxed) != 0;
        match Role::ALL.into_iter().find(asleep) {
            Some(role) => self.wake(role),
            // Everybody is busy and will look before sleeping.
            None => Wake::Polling,
        }
    }

    #[cold]
    fn wake(&self, role: Role) -> Wake {
        // `AcqRel`, so that whoever cleared `called` has read `word` before it
        // changes here.
        if self.called.swap(1, Ordering::AcqRel) != 0 {
            return Wake::Woken;
        }
        self.word.fetch_add(1, Ordering::Release);
        if futex::wake(self.word, 1, role.mask()) == 0 {
            // The sleeper was leaving, or was just about to sleep and will not.
            // If it left, nobody will clear the call, and others may have relied
            // on it meanwhile: call whoever else is asleep.
            self.called.swap(0, Ordering::AcqRel);
            let anybody = Role::Service.mask() | Role::Application.mask();
            futex::wake(self.word, 1, anybody);
        }
        Wake::Woken
    }

    /// Wakes all who sleep in these roles, whatever else is going on.
    pub(crate) fn rouse(&self, roles: &[Role]) {
        fence(Ordering::SeqCst);
        for role in roles {
            if self.sleeping(*role).load(Ordering::Relaxed) != 0 {
                self.word.fetch_add(1, Ordering::Release);
                futex::wake(self.word, u32::MAX, role.mask());
            }
        }
    }

    /// A polling thread sleeps, if `look`, which looks for anything to do, lets
    /// it; it counts as polling again afterwards and has to look for messages.
    pub(crate) fn sleep(&self, role: Role, look: impl FnOnce() -> Sleep) {
        let sleeping = self.sleeping(role);
        sleeping.fetch_add(1, Ordering::Relaxed);
        self.polling.fetch_sub(1, Ordering::Relaxed);
        let word = self.word.load(Ordering::Acquire);
        self.called.swap(0, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        match look() {
            Sleep::Not => {}
            Sleep::Until(moment_ns) => futex::wait(self.word, word, role.mask(), Some(moment_ns)),
            Sleep::UntilWoken => futex::wait(self.word, word, role.mask(), None),
        }
        self.polling.fetch_add(1, Ordering::Relaxed);
        sleeping.fetch_sub(1, Ordering::Release);
        self.called.swap(0, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }
}
