//! Events of consistency: how often they happen, and what each costs.

use serde::Serialize;
use std::ops::{Add, AddAssign};

pub use fathomp_launch::Protocol;

/// An event of consistency that has a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// First write to a page whose home is this node.
    LocalWrite = 0,
    /// First write to a page that a twin must be made of: its home is another
    /// node or, in the homeless protocol, it has none.
    RemoteWrite = 1,
    /// Access to a page that must be brought up to date from other nodes.
    Fetch = 2,
    /// A diff sent to its home at the end of an interval.
    DiffToHome = 3,
}

impl Event {
    /// All events, in the order of their numbers.
    pub const ALL: [Self; 4] = [
        Self::LocalWrite,
        Self::RemoteWrite,
        Self::Fetch,
        Self::DiffToHome,
    ];
    /// Number of events.
    pub const COUNT: usize = Self::ALL.len();

    /// Several of them in words.
    #[must_use]
    pub const fn words(self, protocol: Protocol) -> &'static str {
        match (self, protocol) {
            (Self::LocalWrite, _) => "local write faults",
            (Self::RemoteWrite, Protocol::Home) => "remote write faults",
            (Self::RemoteWrite, Protocol::Homeless) => "write faults",
            (Self::Fetch, _) => "fetch faults",
            (Self::DiffToHome, _) => "diffs to homes",
        }
    }
}

/// How often each [`Event`] happened; published counts are rounded, so these
/// are not whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts(pub [f64; Event::COUNT]);

impl Counts {
    /// What a homeless protocol counts.
    #[must_use]
    pub const fn homeless(writes: f64, fetches: f64) -> Self {
        Self([0.0, writes, fetches, 0.0])
    }

    /// What a home-based protocol counts.
    #[must_use]
    pub const fn home(local_writes: f64, remote_writes: f64, fetches: f64, diffs: f64) -> Self {
        Self([local_writes, remote_writes, fetches, diffs])
    }

    /// Time each kind of event takes, in ns.
    #[must_use]
    pub fn cost_ns(&self, prices: &Prices) -> [f64; Event::COUNT] {
        Event::ALL.map(|event| self.0[event as usize] * prices.us(event) * 1e3)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// What each [`Event`] costs the thread it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// [`Event::LocalWrite`].
    pub local_write_us: f64,
    /// [`Event::RemoteWrite`].
    pub remote_write_us: f64,
    /// [`Event::Fetch`].
    pub fetch_us: f64,
    /// [`Event::DiffToHome`]; 0 where there are no homes.
    pub diff_to_home_us: f64,
}

impl Prices {
    /// The price of one event.
    #[must_use]
    pub const fn us(&self, event: Event) -> f64 {
        match event {
            Event::LocalWrite => self.local_write_us,
            Event::RemoteWrite => self.remote_write_us,
            Event::Fetch => self.fetch_us,
            Event::DiffToHome => self.diff_to_home_us,
        }
    }
}
