//! Threads that update a byte in one atomic step: in the memory of its page's home where it
//! offers that, and otherwise in a copy under a lock.

use crate::cluster::{At, Cluster, State, Step};
use crate::memory::{Place, Small};
use crate::shared;
use fathomp_base::{NodeId, PageId, ThreadId};
use fathomp_dsm::{Access, Input, LockId, Offer, Operation, Protocol, Updates};
use std::fmt::Debug;
use std::hash::Hash;

/// The lock of who asks that a page be offered.
const UPDATES: LockId = LockId(99);

/// How far a thread is with an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    #[default]
    Begun,
    Told,
    /// It has the lock, and has asked or not.
    Locked(bool),
    Refused,
    Copy,
    Written,
    Home,
    Shown,
    /// It has found that, and has the lock or not.
    Done(u8, bool),
    Learned(u8),
    /// Of a thread that has waited: it asks the node with that number next, or waits for its
    /// answer.
    Asks(usize),
    Awaits(usize),
    /// What all have told is known.
    Knows,
}

impl Stage {
    /// The page's home offers nothing.
    pub(crate) fn refused(self) -> Self {
        match self {
            Self::Shown => self,
            _ => Self::Refused,
        }
    }
}

impl<P> Cluster<P>
where
    P: Protocol<Small> + Clone + Debug + PartialEq + Hash,
    P::Incoming: Clone + PartialEq + Hash,
{
    /// A thread goes on with an update.
    pub(crate) fn update(
        &self,
        state: &mut State<P, P::Incoming>,
        at @ (node, thread): (usize, usize),
        step: Step,
    ) -> Result<(), String> {
        let (place, _) = changes(step);
        let page = PageId(place.page);
        let stage = state.nodes[node].threads[thread].stage;
        let found = state.nodes[node].threads[thread].found;
        let set = |state: &mut State<P, P::Incoming>, stage| {
            state.nodes[node].threads[thread].stage = stage;
        };
        let operation = match stage {
            Stage::Begun => {
                set(state, Stage::Told);
                match owes(state, node) {
                    true => Operation::Flush,
                    false => return self.update(state, at, step),
                }
            }
            Stage::Told | Stage::Locked(_) if try_to_update(state, at, step)? => {
                return self.update(state, at, step);
            }
            Stage::Told => {
                set(state, Stage::Locked(false));
                Operation::Acquire(UPDATES)
            }
            Stage::Locked(asked) if !asked || is_reserved(state, node, place) => {
                set(state, Stage::Locked(true));
                Operation::Update(page)
            }
            Stage::Locked(_) | Stage::Refused => {
                set(state, Stage::Copy);
                Operation::Flush
            }
            Stage::Copy => return self.update_copy(state, at, step),
            Stage::Written => {
                set(state, Stage::Home);
                Operation::Flush
            }
            Stage::Home => {
                set(state, Stage::Shown);
                Operation::Update(page)
            }
            Stage::Shown if state.nodes[node].protocol.lacks_what_is_shown() => Operation::Flush,
            Stage::Shown => {
                set(state, Stage::Done(found, true));
                return self.update(state, at, step);
            }
            Stage::Done(found, true) => {
                set(state, Stage::Done(found, false));
                Operation::Release(UPDATES)
            }
            Stage::Done(found, false) => {
                set(state, Stage::Learned(found));
                match has_news(state, node) {
                    true => Operation::Flush,
                    false => return self.update(state, at, step),
                }
            }
            Stage::Asks(_) | Stage::Awaits(_) | Stage::Knows => return self.ask(state, at),
            Stage::Learned(found) => {
                let thread = &mut state.nodes[node].threads[thread];
                (thread.stage, thread.found) = (Stage::Begun, 0);
                thread.next += 1;
                if let Step::IfUpdated(_, value, leave_out) = step
                    && found != value
                {
                    thread.next += leave_out;
                }
                return Ok(());
            }
        };
        state.nodes[node].threads[thread].waits = Some(At::Operation);
        let thread = ThreadId(u32::try_from(thread).unwrap_or(u32::MAX));
        self.input(state, node, Input::Operation { thread, operation })
    }

    /// Updates a copy, under the lock.
    fn update_copy(
        &self,
        state: &mut State<P, P::Incoming>,
        at @ (node, thread): (usize, usize),
        step: Step,
    ) -> Result<(), String> {
        let (place, add) = changes(step);
        if offers(state, node, place, Offer::Updated).is_some() {
            return Err(format!("{place:?} is updated in a copy and at its home"));
        }
        if !state.nodes[node].memory.permits(place.page, Access::Write) {
            return self.fault(state, at, place, Access::Write);
        }
        let memory = &mut state.nodes[node].memory;
        let before = memory.read(place).unwrap_or_default();
        memory.write(place, before.wrapping_add(add));
        let thread = &mut state.nodes[node].threads[thread];
        thread.faults = 0;
        (thread.stage, thread.found) = (Stage::Written, before);
        updated(state, node, step, before)?;
        self.update(state, at, step)
    }
}

/// Where a step updates, and what it adds.
fn changes(step: Step) -> (Place, u8) {
    match step {
        Step::Update(place, add) => (place, add),
        Step::IfUpdated(place, ..) => (place, 0),
        _ => (Place { page: 0, byte: 0 }, 0),
    }
}

fn owes<P: Protocol<Small>>(state: &State<P, P::Incoming>, node: usize) -> bool {
    let there = &state.nodes[node];
    let sequencer = state.nodes[0].protocol.sequenced();
    let contained = sequencer.map(|sequencer| sequencer.contains.of(id(node)));
    !contained.is_some_and(|contained| there.underway.may_tell(contained))
        || there.protocol.owes()
        || there.memory.may_have_been_written()
}

fn has_news<P: Protocol<Small>>(state: &State<P, P::Incoming>, node: usize) -> bool {
    let there = &state.nodes[node].protocol;
    let epoch = there.committed().map(|there| there.epoch);
    let sequencer = state.nodes[0].protocol.sequenced().zip(epoch);
    let shared = &state.memories.shared;
    there.borrows()
        || there.awaits_diffs()
        || sequencer.is_none_or(|(sequencer, epoch)| {
            shared.has_news(id(node), epoch, sequencer, usize::MAX)
        })
}

/// How a page is updated, if its home offers it so.
fn offers<P: Protocol<Small>>(
    state: &State<P, P::Incoming>,
    node: usize,
    place: Place,
    offer: Offer,
) -> Option<Updates> {
    let page = PageId(place.page);
    let updates = state.nodes[node].protocol.updates(page)?;
    let there = &state.nodes[usize::from(updates.home.0)];
    let same = there.protocol.committed()?.epoch == updates.epoch;
    (same && there.memory.offered(page) == offer).then_some(updates)
}

/// Whether a page's home offers it, or soon will.
fn is_reserved<P: Protocol<Small>>(
    state: &State<P, P::Incoming>,
    node: usize,
    place: Place,
) -> bool {
    let mut either = [Offer::Updated, Offer::Reserved].into_iter();
    either.any(|offer| offers(state, node, place, offer).is_some())
}

/// Updates a byte in the memory of its page's home, if that may be.
fn try_to_update<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    (node, thread): (usize, usize),
    step: Step,
) -> Result<bool, String> {
    let (place, add) = changes(step);
    let Some(updates) = offers(state, node, place, Offer::Updated) else {
        return Ok(false);
    };
    let home = usize::from(updates.home.0);
    if !shared::has_received(state, home, &updates.need) {
        return Ok(false);
    }
    let before = state.nodes[home].memory.update(place, add)?;
    let thread = &mut state.nodes[node].threads[thread];
    let locked = matches!(thread.stage, Stage::Locked(_));
    thread.stage = Stage::Done(before, locked);
    updated(state, node, step, before)?;
    Ok(true)
}

/// A byte was updated that had the value `before`.
fn updated<P: Protocol<Small>>(
    state: &mut State<P, P::Incoming>,
    node: usize,
    step: Step,
    before: u8,
) -> Result<(), String> {
    let Step::Update(place, add) = step else {
        return Ok(());
    };
    let truth = state.truth.entry(place).or_default();
    if *truth != before {
        return Err(format!(
            "node {node} updates {before}, not {truth}, at {place:?}"
        ));
    }
    *truth = before.wrapping_add(add);
    Ok(())
}

fn id(node: usize) -> NodeId {
    NodeId(u16::try_from(node).unwrap_or(u16::MAX))
}
