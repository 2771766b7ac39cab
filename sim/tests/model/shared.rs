//! What nodes do by themselves in memory that they share. Whatever can be done that way
//! is: messages tell of the rest, and where there is no such memory.

use crate::cluster::State;
use crate::memory::{Nonsense, Small};
use fathomp_base::NodeId;
use fathomp_dsm::{
    Brought, Committed, Input, Interval, LockId, Notice, PageSet, Protocol, Told, Wants,
};
use std::collections::BTreeMap;

/// A log of each epoch, and locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shared {
    logs: BTreeMap<u32, Vec<Notice>>,
    /// How far each node has read its epoch's log, and how far the sequencer.
    read: BTreeMap<usize, (u32, usize)>,
    sequenced: (u32, usize),
    /// Diffs that a home has yet to be told of.
    brought: BTreeMap<(usize, NodeId), Interval>,
    /// Locks that are not free: who has them and whether the sequencer has to hear of
    /// it; none if the sequencer has taken them over.
    locks: BTreeMap<LockId, Option<(NodeId, bool)>>,
}

impl Shared {
    pub(crate) fn claim(&mut self, lock: LockId) -> Option<NodeId> {
        let (holder, waited) = self.locks.entry(lock).or_insert(None).as_mut()?;
        *waited = true;
        Some(*holder)
    }

    pub(crate) fn unclaim(&mut self, lock: LockId) {
        self.locks.remove(&lock);
    }

    /// The interval up to which a home has a node's diffs.
    fn received(&self, home: usize, node: NodeId, told: Interval) -> Interval {
        let brought = self.brought.get(&(home, node)).copied();
        told.max(brought.unwrap_or_default())
    }
}

/// What a node has to be told before anything else.
pub(crate) fn news<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    number: usize,
) -> Vec<Input<P::Incoming>> {
    let State { nodes, shared, .. } = state;
    let mut news = vec![Input::Taken(nodes[number].memory.take_taken())];
    let here = (number, NodeId(0))..=(number, NodeId(u16::MAX));
    let brought: Vec<_> = shared.brought.extract_if(here, |_, _| true).collect();
    if !brought.is_empty() {
        let brought = brought.into_iter();
        let versions = brought.map(|((_, writer), interval)| (writer, interval));
        news.push(Input::Brought(versions.collect()));
    }
    if let Some(sequenced) = nodes[number].protocol.sequenced() {
        if shared.sequenced.0 != sequenced.epoch {
            shared.sequenced = (sequenced.epoch, 0);
        }
        let log = shared.logs.get(&sequenced.epoch).into_iter().flatten();
        let logged: Vec<_> = log.skip(shared.sequenced.1).cloned().collect();
        shared.sequenced.1 += logged.len();
        // What everybody has left is of no use to anybody.
        shared.logs.retain(|epoch, _| epoch + 1 >= sequenced.epoch);
        if !logged.is_empty() {
            news.push(Input::Logged(logged));
        }
    }
    news
}

/// The sequencer enters an interval.
pub(crate) fn enter<P: Protocol<Small>>(state: &mut State<P, P::Incoming>, notice: Notice) {
    if let Some(sequenced) = state.nodes[0].protocol.sequenced() {
        let log = state.shared.logs.entry(sequenced.epoch);
        log.or_default().push(notice);
    }
}

/// Does what a message is for. What follows from it at its sender; nothing if it has to
/// be sent.
pub(crate) fn without_message<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    number: usize,
    to: NodeId,
    message: &P::Outgoing,
) -> Option<Result<Vec<Input<P::Incoming>>, Nonsense>> {
    if let Some(told) = state.nodes[number].protocol.told(message) {
        return tell::<P>(state, number, told).map(Ok);
    }
    match P::brought(message) {
        Some(brought) => {
            let brought = bring::<P>(state, number, to, brought)?;
            Some(brought.map(|()| Vec::new()))
        }
        None => take::<P>(state, to, message).map(Ok),
    }
}

/// Takes pages out of a home's memory.
fn take<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    to: NodeId,
    message: &P::Outgoing,
) -> Option<Vec<Input<P::Incoming>>> {
    let wanted = P::wanted(message)?;
    let (home, nodes) = (usize::from(to.0), (0..).map(NodeId).take(state.nodes.len()));
    let there = &mut state.nodes[home];
    let committed = there.protocol.committed()?;
    let mut received = committed.received.clone();
    for node in nodes {
        received.learn(node, state.shared.received(home, node, Interval::default()));
    }
    let received = &received;
    if !wanted.is_part_of(Committed {
        received,
        ..committed
    }) {
        return None;
    }
    let (open, left): (Vec<_>, Vec<_>) = wanted
        .pages
        .iter()
        .partition(|page| there.memory.is_open(*page));
    let mut inputs = Vec::new();
    for pages in PageSet::from_sorted(&open).ranges() {
        let message = P::taken(wanted.epoch, *pages, |page| there.memory.take(page))?;
        inputs.push(Input::Message { from: to, message });
    }
    let left = PageSet::from_sorted(&left);
    let left = left.ranges().iter().copied().map(Input::Left);
    inputs.extend(left.filter(|_| !open.is_empty()));
    (!inputs.is_empty()).then_some(inputs)
}

/// Writes diffs into a home's memory.
fn bring<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    number: usize,
    to: NodeId,
    brought: Brought,
) -> Option<Result<(), Nonsense>> {
    let (me, home) = (NodeId(u16::try_from(number).ok()?), usize::from(to.0));
    let there = state.nodes[home].protocol.committed()?;
    let received = state.shared.received(home, me, there.received.of(me));
    let admitted = there.admits && there.epoch == brought.epoch;
    if !admitted || !state.nodes[number].underway.may_bring(to, received) {
        return None;
    }
    for (page, diff) in brought.diffs {
        let Some(Small::Diff(diff)) = state.nodes[number].memory.content(*diff) else {
            return Some(Err(format!("node {number} brings what it does not have")));
        };
        let brought = state.nodes[home].memory.bring(*page, diff);
        if brought.is_err() {
            return Some(brought);
        }
    }
    let last = state.shared.brought.entry((home, me)).or_default();
    *last = brought.interval;
    Some(Ok(()))
}

/// Enters an interval in the log, reads it, takes a lock or gives it back.
fn tell<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    number: usize,
    told: Told,
) -> Option<Vec<Input<P::Incoming>>> {
    let me = NodeId(u16::try_from(number).ok()?);
    let State { nodes, shared, .. } = state;
    let sequencer = nodes[0].protocol.sequenced()?;
    let contained = sequencer.contains.of(me);
    if sequencer.asks || !nodes[number].underway.may_tell(contained) {
        return None;
    }
    let log = shared.logs.entry(told.epoch).or_default();
    let thread = match told.wants {
        Wants::Nothing => None,
        Wants::Log(thread) => Some(thread),
        Wants::Lock {
            lock,
            thread,
            waits,
        } => match shared.locks.get(&lock) {
            None => {
                shared.locks.insert(lock, Some((me, false)));
                Some(thread)
            }
            Some(Some(_)) if !waits => {
                let (from, message) = P::learned(told.epoch, thread, None)?;
                return Some(vec![Input::Message { from, message }]);
            }
            Some(_) => return None,
        },
        Wants::Unlock(lock) => {
            log.extend(told.notice.cloned());
            let free = shared.locks.get(&lock) == Some(&Some((me, false)));
            return free.then(|| {
                shared.locks.remove(&lock);
                Vec::new()
            });
        }
    };
    log.extend(told.notice.cloned());
    let Some(thread) = thread else {
        return Some(Vec::new());
    };
    let read = shared.read.entry(number).or_default();
    if read.0 != told.epoch {
        *read = (told.epoch, 0);
    }
    let news = log[read.1..].iter().filter(|notice| notice.writer != me);
    let news = news.cloned().collect();
    read.1 = log.len();
    let (from, message) = P::learned(told.epoch, thread, Some(news))?;
    Some(vec![Input::Message { from, message }])
}
