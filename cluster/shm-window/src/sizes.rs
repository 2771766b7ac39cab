//! How much room there is in shared memory. Where something is full, messages do.

/// Room, and how long is tried and kept. The defaults are for programs that run;
/// [`small`](Self::small) ones for clusters that are simulated, whose states are copied
/// and compared again and again, and where what is rare should be frequent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Notes of pages taken that can be left for a node before it looks. More are lost:
    /// then the node thinks that nobody has use for these pages.
    pub notes: usize,
    /// Slots of a log, which are used in turn. With one, a log closes at its first entry.
    pub log_slots: usize,
    /// Words for a node's entries in a log; an entry takes two, and one for each range of
    /// pages. A node writes over one half when all have read what was there, while the
    /// other waits to be read.
    pub log_ring: usize,
    /// Most words of an entry. An interval that needs more goes by message, as all after
    /// it in that epoch.
    pub log_entry_max: usize,
    /// Places for locks; those that find none are the sequencer's.
    pub lock_places: usize,
    /// Looks at a lock that another node has before the sequencer is asked.
    pub lock_looks: u32,
    /// When nodes keep locks.
    pub keeping: Keeping,
}

/// When a node that gives a lock back keeps it, see [`Holder`](fathomp_protocols::Holder). A
/// *streak* is how often in turn a node has taken a lock again.
///
/// Each lock has a *level* that rises when it was kept to no use: its node keeps it after
/// twice as long a streak for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Keeping {
    /// The shortest streak after which a lock is kept, at level 0.
    pub streak_min: u8,
    /// The streak after which it is given back once, so that what is written under it
    /// becomes visible also to threads that never take it. At most 63.
    pub streak_max: u8,
    /// The highest level, at most 7.
    pub level_max: u8,
    /// How often a lock has to be taken while it is kept; less was to no use: to give it
    /// back by messages costs what several locks do that nobody keeps.
    pub worth: u8,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            notes: 4096,
            log_slots: 1 << 13,
            log_ring: 1 << 14,
            log_entry_max: 1 << 11,
            lock_places: 1 << 20,
            // A few microseconds, in which an atomic operation ends.
            lock_looks: 100,
            keeping: Keeping {
                streak_min: 2,
                streak_max: Keeping::STREAK_MAX,
                level_max: 4,
                worth: 8,
            },
        }
    }
}

impl Sizes {
    /// About 60 words for each node.
    #[must_use]
    pub fn small() -> Self {
        Self {
            notes: 4,
            log_slots: 6,
            log_ring: 16,
            log_entry_max: 6,
            lock_places: 4,
            lock_looks: 1,
            keeping: Keeping {
                streak_min: 0,
                streak_max: 2,
                level_max: 0,
                worth: 0,
            },
        }
    }

    /// The same, as far as the words of this crate can name it.
    pub(crate) fn in_range(self) -> Self {
        let log_ring = self.log_ring.clamp(2, 1 << 14);
        let streak_max = self.keeping.streak_max.clamp(1, Keeping::STREAK_MAX);
        let Keeping {
            streak_min,
            level_max,
            worth,
            ..
        } = self.keeping;
        Self {
            // More could not be named by 32 bits, of which some count laps.
            log_slots: self.log_slots.clamp(1, 1 << 20),
            log_ring,
            log_entry_max: self.log_entry_max.min(log_ring / 2),
            lock_places: self.lock_places.clamp(1, 1 << 24),
            lock_looks: self.lock_looks.max(1),
            keeping: Keeping {
                streak_min: streak_min.min(streak_max),
                streak_max,
                level_max: level_max.min(Keeping::LEVEL_MAX),
                worth,
            },
            ..self
        }
    }
}

impl Keeping {
    pub(crate) const STREAK_MAX: u8 = 63;
    pub(crate) const LEVEL_MAX: u8 = 7;
}
