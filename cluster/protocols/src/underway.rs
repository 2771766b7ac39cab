//! What a node has sent by message, and must not overtake by what it does itself in
//! memory that nodes share.

use crate::Interval;
use fathomp_types::NodeId;

/// What a message has of its sender's own intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// It tells the sequencer of one.
    Notice(Interval),
    /// It brings diffs of one to their home.
    Diffs(Interval),
}

/// The last of a node's intervals that went by message. Each is an order in which others
/// learn of them, so one may go another way only if those before it have arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Underway {
    /// Told to the sequencer.
    told: Interval,
    /// Whose diffs were sent, by home.
    sent: Vec<Interval>,
}

impl Underway {
    /// A message is sent.
    pub fn sends(&mut self, to: NodeId, carried: Carried) {
        match carried {
            Carried::Notice(interval) => self.told = interval.max(self.told),
            Carried::Diffs(interval) => {
                let home = usize::from(to.0);
                if self.sent.len() <= home {
                    self.sent.resize(home + 1, Interval::default());
                }
                self.sent[home] = interval.max(self.sent[home]);
            }
        }
    }

    /// Whether the next interval may be entered in the log, if the sequencer knows of
    /// this node's intervals up to one.
    #[must_use]
    pub fn may_tell(&self, contained: Interval) -> bool {
        contained >= self.told
    }

    /// Whether the next diffs may be written into the memory of a home that has received
    /// this node's up to an interval.
    #[must_use]
    pub fn may_bring(&self, home: NodeId, received: Interval) -> bool {
        let sent = self.sent.get(usize::from(home.0)).copied();
        received >= sent.unwrap_or_default()
    }
}
