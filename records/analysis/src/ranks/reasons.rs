//! Why a rank waits in each of its calls.

use super::events::Events;
use serde::Serialize;

/// Why a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// It receives a message that is not sent yet.
    LateSender,
    /// It sends a message that the other is not ready to receive.
    LateReceiver,
    /// It is in a collective call that the last rank has not come to.
    LastRank,
    /// It is to get something from a root that has not come.
    LateRoot,
    /// It is the root and waits for what the last rank gives.
    EarlyRoot,
}

/// Why a rank waits in a call, and for whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reason {
    pub(super) kind: WaitKind,
    pub(super) for_rank: u32,
    /// What that does meanwhile: index of its call.
    pub(super) call: u32,
    pub(super) ns: f64,
}

/// The dearest reason of each call of a rank. There are as many as calls, so the parts of a reason
/// are kept in lists of their own, without padding.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasons {
    /// 0 of a call that does not wait.
    ns: Vec<f64>,
    other: Vec<(u32, u32)>,
    kinds: Vec<WaitKind>,
}

impl Reasons {
    /// None yet, for any of these calls.
    pub(super) fn of(events: &Events) -> Self {
        let count = events.calls.len();
        Self {
            ns: vec![0.0; count],
            other: vec![(0, 0); count],
            kinds: vec![WaitKind::LateSender; count],
        }
    }

    /// Keeps a reason if it is the dearest of the call.
    pub(super) fn add(&mut self, call: u32, reason: Reason) {
        let call = call as usize;
        if reason.ns > self.ns[call] {
            self.ns[call] = reason.ns;
            self.other[call] = (reason.for_rank, reason.call);
            self.kinds[call] = reason.kind;
        }
    }

    /// How long a call waits.
    pub(super) fn waited_ns(&self, call: u32) -> f64 {
        self.ns[call as usize]
    }

    /// The calls that wait, each with its reason.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, Reason)> {
        let waiting = (0..).zip(&self.ns).filter(|(_, ns)| **ns > 0.0);
        waiting.map(|(call, ns)| {
            let (for_rank, of_other) = self.other[call as usize];
            let reason = Reason {
                kind: self.kinds[call as usize],
                for_rank,
                call: of_other,
                ns: *ns,
            };
            (call, reason)
        })
    }
}
