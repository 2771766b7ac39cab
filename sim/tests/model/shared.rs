//! What nodes do by themselves in memory that they share. Whatever can be done that way
//! is: messages tell of the rest, and where there is no such memory.

use crate::cluster::{State, Step, node_id};
use crate::memory::{Nonsense, Small};
use fathomp_base::NodeId;
use fathomp_dsm::order::Version;
use fathomp_dsm::order::{Control, ROOT};
use fathomp_dsm::{Brought, Input, Interval, LockId, Notice, Offer, Protocol, Told};
use fathomp_sim::{Answer, Shared};
use std::collections::BTreeMap;

/// The log, the locks, and more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Memories {
    pub(crate) shared: Shared,
    /// Diffs that a home has yet to be told of, and of which it has yet to be told that they
    /// were begun.
    brought: BTreeMap<(usize, NodeId), Interval>,
    begun: BTreeMap<(usize, NodeId), Interval>,
}

impl Memories {
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
    let State {
        nodes, memories, ..
    } = state;
    let mut news = vec![Input::Taken(nodes[number].memory.take_taken())];
    let kept = nodes[number].memory.take_kept();
    news.extend(kept.map(|(pages, changed)| Input::Kept(pages, changed)));
    let here = (number, NodeId(0))..=(number, NodeId(u16::MAX));
    let begun = memories.begun.extract_if(here.clone(), |_, _| true);
    let begun: Vec<_> = begun.map(|((_, writer), last)| (writer, last)).collect();
    news.extend((!begun.is_empty()).then_some(Input::Begun(begun)));
    let brought: Vec<_> = memories.brought.extract_if(here, |_, _| true).collect();
    if !brought.is_empty() {
        let brought = brought.into_iter();
        let versions = brought.map(|((_, writer), interval)| (writer, interval));
        news.push(Input::Brought(versions.collect()));
    }
    if let Some(sequenced) = nodes[number].protocol.sequenced() {
        let logged = memories.shared.logged(sequenced.epoch);
        news.extend((!logged.is_empty()).then_some(Input::Logged(logged)));
    }
    news
}

/// Whether a home has the diffs of these intervals.
pub(crate) fn has_received<P: Protocol<Small>>(
    state: &State<P, P::Incoming>,
    home: usize,
    need: &[Version],
) -> bool {
    let committed = state.nodes[home].protocol.committed();
    committed.is_some_and(|there| {
        let received = |node| {
            let told = there.received.of(node);
            state.memories.received(home, node, told)
        };
        need.iter().all(|(node, last)| received(*node) >= *last)
    })
}

/// The sequencer enters an interval.
pub(crate) fn enter<P: Protocol<Small>>(state: &mut State<P, P::Incoming>, notice: Notice) {
    if let Some(sequenced) = state.nodes[0].protocol.sequenced() {
        let shared = &mut state.memories.shared;
        shared.enter(sequenced.epoch, notice, usize::MAX);
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
        None => take::<P>(state, number, to, message).map(Ok),
    }
}

/// Takes pages out of a home's memory.
fn take<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    number: usize,
    to: NodeId,
    message: &P::Outgoing,
) -> Option<Vec<Input<P::Incoming>>> {
    let (home, nodes) = (usize::from(to.0), (0..).map(NodeId).take(state.nodes.len()));
    let [here, there] = state.nodes.get_disjoint_mut([number, home]).ok()?;
    let wanted = here.protocol.wanted(message)?;
    let committed = there.protocol.committed()?;
    let mut received = committed.received.clone();
    for node in nodes {
        received.learn(
            node,
            state.memories.received(home, node, Interval::default()),
        );
    }
    if !wanted.is_part_of(committed.epoch, &received) {
        return None;
    }
    let taking = wanted.taking(|page| there.memory.offer(page, &wanted));
    if taking.taken.is_empty() {
        return None;
    }
    let kept = taking.kept.iter();
    kept.for_each(|page| there.memory.keep_taken(page));
    Some(taking.inputs(|pages| {
        let message = P::taken(wanted.epoch, pages, |page| {
            let versions = there.memory.old(page);
            let versions = versions.unwrap_or_else(|| there.memory.shown.clone());
            (wanted.known(to, versions), there.memory.take(page))
        })?;
        Some(Input::Message { from: to, message })
    }))
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
    let received = state.memories.received(home, me, there.received.of(me));
    let admitted = there.admits.admits(brought.more) && there.epoch == brought.epoch;
    let offers = |(page, _): &(_, _)| state.nodes[home].memory.offered(*page);
    let admitted = admitted && brought.diffs.iter().map(offers).all(Offer::admits_diffs);
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
    state.memories.begun.insert((home, me), brought.interval);
    if !brought.more {
        let last = state.memories.brought.entry((home, me)).or_default();
        *last = brought.interval;
    }
    Some(Ok(()))
}

/// Enters an interval in the log, reads it, takes a lock or gives it back.
fn tell<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    number: usize,
    told: Told,
) -> Option<Vec<Input<P::Incoming>>> {
    let epoch = told.epoch;
    let me = NodeId(u16::try_from(number).ok()?);
    let State {
        nodes, memories, ..
    } = state;
    let sequencer = nodes[0].protocol.sequenced()?;
    let (shared, underway) = (&mut memories.shared, &nodes[number].underway);
    let answer = shared.tell(me, told, sequencer, underway, usize::MAX)?;
    let Answer::For(thread, notices) = answer else {
        return Some(Vec::new());
    };
    let message = Control::answer(epoch, thread, notices).into();
    let from = ROOT;
    Some(vec![Input::Message { from, message }])
}

/// Takes a lock that a node keeps, or keeps one. Then there is nothing else to be done.
pub(crate) fn uses_kept_lock<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    node: usize,
    step: Step,
) -> bool {
    let epoch = state.nodes[node]
        .protocol
        .committed()
        .map(|there| there.epoch);
    let (me, shared) = (node_id(node), &mut state.memories.shared);
    match step {
        Step::Acquire(lock) | Step::TryAcquire(lock, _) => shared.take_kept(me, LockId(lock)),
        Step::Keep(lock) => epoch.is_some_and(|epoch| shared.keep(me, LockId(lock), epoch)),
        _ => false,
    }
}
