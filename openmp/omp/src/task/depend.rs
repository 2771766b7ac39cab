//! Task dependences.
//!
//! A task that creates tasks with `depend` clauses keeps a [`Scope`]: for each
//! address the last *generation* of tasks that named it. Tasks of a generation
//! may run together (several `in`, or several `inoutset`), and all of them
//! come after all tasks of the generation before. So a new task either joins
//! the current generation and waits for the one before, or begins a new one
//! and waits for the current.
//!
//! `mutexinoutset` counts as `inout`: that keeps the tasks apart as it must,
//! and fixes their order, which it may.
//!
//! A task that names all memory (`omp_all_memory`) comes after every generation
//! of every address, and is the generation before those that follow, of
//! whatever address.

use crate::team::Team;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a task uses an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `in`: together with other `in`.
    In,
    /// `out`: alone.
    Out,
    /// `inout`: alone, as `out`.
    InOut,
    /// `mutexinoutset`: alone, and in order as well.
    MutexInOutSet,
    /// `inoutset`: together with other `inoutset`.
    InOutSet,
}

impl Access {
    /// Whether tasks with this access may run together.
    fn is_shared(self) -> bool {
        matches!(self, Self::In | Self::InOutSet)
    }
}

/// The address of `omp_all_memory` as a list item; no variable is there.
pub const ALL_MEMORY: usize = usize::MAX;

/// One list item of a `depend` clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// Where the list item is, or [`ALL_MEMORY`].
    pub address: usize,
    /// What the task does with it.
    pub access: Access,
}

/// A task in the graph of dependences, or a thread waiting in it.
pub(crate) struct Node<T: 'static> {
    team: &'static Team,
    /// The task to run when nothing is missing; none if a thread waits.
    task: Option<&'static T>,
    /// Predecessors not complete, and 1 while they are being found.
    missing: AtomicU32,
    state: Mutex<State<T>>,
}

/// Is told of each task that is waited for.
pub(super) type Awaits<'a, T> = &'a dyn Fn(&'static T);

#[derive(Debug)]
struct State<T: 'static> {
    complete: bool,
    /// The first successor has a place of its own: many tasks have but one.
    successor: Option<Arc<Node<T>>>,
    more_successors: Vec<Arc<Node<T>>>,
}

/// What the children of a task have said about addresses so far.
#[derive(Debug)]
pub(crate) struct Scope<T: 'static> {
    /// What has been named since the last task that named all memory.
    places: HashMap<usize, Place<T>, BuildHasherDefault<AddressHasher>>,
    /// That task.
    all_memory: Option<Arc<Node<T>>>,
}

#[derive(Debug)]
struct Place<T: 'static> {
    access: Access,
    current: Vec<Arc<Node<T>>>,
    previous: Vec<Arc<Node<T>>>,
}

/// Generations longer than this are searched for complete tasks before they grow.
const PRUNE_ABOVE: usize = 16;

/// Spreads addresses, whose low bits are mostly equal, over the table.
#[derive(Debug, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        // 2^64 divided by the golden ratio; the table uses the top bits too.
        let mixed = (self.0 ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

impl<T> Default for State<T> {
    fn default() -> Self {
        Self {
            complete: false,
            successor: None,
            more_successors: Vec::new(),
        }
    }
}

impl<T> Default for Scope<T> {
    fn default() -> Self {
        Self {
            places: HashMap::default(),
            all_memory: None,
        }
    }
}

impl<T> Node<T> {
    /// A node that misses nothing but [`Node::seal`].
    pub(super) fn new(team: &'static Team, task: Option<&'static T>) -> Arc<Self> {
        Arc::new(Self {
            team,
            task,
            missing: AtomicU32::new(1),
            state: Mutex::default(),
        })
    }

    /// All predecessors have been found; returns whether all are complete.
    pub(super) fn seal(&self) -> bool {
        self.missing.fetch_sub(1, Ordering::SeqCst) == 1
    }

    pub(super) fn is_ready(&self) -> bool {
        self.missing.load(Ordering::SeqCst) == 0
    }

    /// The task is complete: its successors miss it no longer, and those that
    /// miss nothing more are queued with `member`, or where any member of the
    /// team finds them.
    pub(super) fn complete(&self, enqueue: impl Fn(&'static Team, &'static T)) {
        let (successor, more) = {
            let mut state = self.lock();
            state.complete = true;
            (
                state.successor.take(),
                std::mem::take(&mut state.more_successors),
            )
        };
        for successor in successor.into_iter().chain(more) {
            if successor.missing.fetch_sub(1, Ordering::SeqCst) == 1 {
                match successor.task {
                    Some(task) => enqueue(successor.team, task),
                    None => successor.team.tasks.ring_waiters(successor.team),
                }
            }
        }
    }

    fn await_one(self: &Arc<Self>, predecessor: &Self, awaits: Option<Awaits<'_, T>>) {
        let mut state = predecessor.lock();
        if !state.complete {
            if let (Some(awaits), Some(before)) = (awaits, predecessor.task) {
                awaits(before);
            }
            // Before the lock is released: then the predecessor may complete.
            self.missing.fetch_add(1, Ordering::Relaxed);
            let successor = Arc::clone(self);
            if state.successor.is_none() {
                state.successor = Some(successor);
            } else {
                state.more_successors.push(successor);
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.lock().complete
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Node<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("missing", &self.missing)
            .finish_non_exhaustive()
    }
}

impl<T> Scope<T> {
    /// `node` is the next task with these dependences: finds its predecessors
    /// and makes it theirs for those that come later. `awaits` is told of each task that is
    /// not complete, and cannot complete meanwhile.
    pub(super) fn add(
        &mut self,
        node: &Arc<Node<T>>,
        dependences: &[Dependence],
        awaits: Option<Awaits<'_, T>>,
    ) {
        if name_all_memory(dependences) {
            self.await_everything(node, awaits);
            self.places.clear();
            self.all_memory = Some(Arc::clone(node));
            return;
        }
        each_address(dependences, |dependence| {
            let place = self.place(dependence);
            if !place.shares(dependence.access) {
                std::mem::swap(&mut place.previous, &mut place.current);
                place.current.clear();
                place.access = dependence.access;
            } else if place.current.len() >= PRUNE_ABOVE && place.current.len().is_power_of_two() {
                place.current.retain(|member| !member.is_complete());
            }
            for predecessor in &place.previous {
                node.await_one(predecessor, awaits);
            }
            place.current.push(Arc::clone(node));
        });
    }

    /// `node` waits for what a task with these dependences would wait for;
    /// nobody will wait for it. `awaits` as for [`Self::add`].
    pub(super) fn wait_only(
        &mut self,
        node: &Arc<Node<T>>,
        dependences: &[Dependence],
        awaits: Option<Awaits<'_, T>>,
    ) {
        if name_all_memory(dependences) {
            return self.await_everything(node, awaits);
        }
        each_address(dependences, |dependence| {
            if let Some(place) = self.places.get(&dependence.address) {
                let before = if place.shares(dependence.access) {
                    &place.previous
                } else {
                    &place.current
                };
                for predecessor in before {
                    node.await_one(predecessor, awaits);
                }
            } else if let Some(all_memory) = &self.all_memory {
                node.await_one(all_memory, awaits);
            }
        });
    }

    fn await_everything(&self, node: &Arc<Node<T>>, awaits: Option<Awaits<'_, T>>) {
        let current = self.places.values().flat_map(|place| &place.current);
        for predecessor in current.chain(&self.all_memory) {
            node.await_one(predecessor, awaits);
        }
    }

    fn place(&mut self, dependence: Dependence) -> &mut Place<T> {
        let Self { places, all_memory } = self;
        places.entry(dependence.address).or_insert_with(|| Place {
            access: dependence.access,
            current: Vec::new(),
            previous: all_memory.iter().cloned().collect(),
        })
    }
}

impl<T> Place<T> {
    /// Whether a task with that access joins the current generation.
    fn shares(&self, access: Access) -> bool {
        self.current.is_empty() || self.access == access && access.is_shared()
    }
}

fn name_all_memory(dependences: &[Dependence]) -> bool {
    let mut addresses = dependences.iter().map(|item| item.address);
    addresses.any(|address| address == ALL_MEMORY)
}

/// Calls `visit` once for each address, with what all items that name it ask
/// for together.
fn each_address(dependences: &[Dependence], mut visit: impl FnMut(Dependence)) {
    const FEW: usize = 16;
    let combine = |first: Access, second: Access| {
        if first == second {
            first
        } else {
            Access::InOut
        }
    };
    if let [only] = dependences {
        visit(*only);
    } else if dependences.len() <= FEW {
        for (index, first) in dependences.iter().enumerate() {
            let same = |other: &&Dependence| other.address == first.address;
            if dependences[..index].iter().any(|other| same(&other)) {
                continue;
            }
            let access = dependences[index + 1..]
                .iter()
                .filter(same)
                .fold(first.access, |access, other| combine(access, other.access));
            visit(Dependence { access, ..*first });
        }
    } else {
        let mut sorted = dependences.to_vec();
        sorted.sort_by_key(|dependence| dependence.address);
        sorted.dedup_by(|second, first| {
            let same = first.address == second.address;
            if same {
                first.access = combine(first.access, second.access);
            }
            same
        });
        sorted.into_iter().for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(address: usize, access: Access) -> Dependence {
        Dependence { address, access }
    }

    fn visited(dependences: &[Dependence]) -> Vec<(usize, Access)> {
        let mut seen = Vec::new();
        each_address(dependences, |found| {
            seen.push((found.address, found.access))
        });
        seen.sort_by_key(|&(address, _)| address);
        seen
    }

    #[test]
    fn each_address_is_visited_once_with_the_strongest_access() {
        let mut list = vec![
            item(1, Access::In),
            item(2, Access::In),
            item(1, Access::Out),
            item(2, Access::In),
            item(3, Access::InOutSet),
        ];
        let expected = vec![(1, Access::InOut), (2, Access::In), (3, Access::InOutSet)];
        assert_eq!(visited(&list), expected);
        for _ in 0..3 {
            list.extend_from_within(..);
        }
        assert_eq!(visited(&list), expected);
    }

    /// Adds a task and returns its node; `true` if it has nothing to wait for.
    fn task(scope: &mut Scope<()>, access: Access) -> (Arc<Node<()>>, bool) {
        task_with(scope, &[item(8, access)])
    }

    fn task_with(scope: &mut Scope<()>, dependences: &[Dependence]) -> (Arc<Node<()>>, bool) {
        let team = crate::worker::current().team();
        let node = Node::new(team, None);
        scope.add(&node, dependences, None);
        let ready = node.seal();
        (node, ready)
    }

    #[test]
    fn readers_run_together_between_writers() {
        let mut scope = Scope::<()>::default();
        let (first, ready) = task(&mut scope, Access::Out);
        assert!(ready);
        let readers: Vec<_> = (0..3).map(|_| task(&mut scope, Access::In)).collect();
        let (last, ready) = task(&mut scope, Access::Out);
        assert!(!ready && readers.iter().all(|(_, ready)| !ready));
        first.complete(|_, _| {});
        assert!(readers.iter().all(|(reader, _)| reader.is_ready()));
        for (reader, _) in &readers {
            assert!(!last.is_ready());
            reader.complete(|_, _| {});
        }
        assert!(last.is_ready());
    }

    #[test]
    fn sets_are_kept_apart_from_readers_and_writers() {
        let mut scope = Scope::<()>::default();
        let (one, ready) = task(&mut scope, Access::InOutSet);
        let (two, also) = task(&mut scope, Access::InOutSet);
        assert!(ready && also);
        let (reader, ready) = task(&mut scope, Access::In);
        assert!(!ready);
        two.complete(|_, _| {});
        assert!(!reader.is_ready());
        one.complete(|_, _| {});
        assert!(reader.is_ready());
        assert!(!task(&mut scope, Access::InOutSet).1);
    }

    #[test]
    fn what_excludes_others_excludes_its_own_kind() {
        for access in [Access::Out, Access::InOut, Access::MutexInOutSet] {
            let mut scope = Scope::<()>::default();
            let (first, ready) = task(&mut scope, access);
            assert!(ready);
            let (second, ready) = task(&mut scope, access);
            assert!(!ready, "{access:?}");
            first.complete(|_, _| {});
            assert!(second.is_ready());
        }
    }

    #[test]
    fn a_long_generation_forgets_complete_tasks() {
        let mut scope = Scope::<()>::default();
        for _ in 0..10_000 {
            task(&mut scope, Access::In).0.complete(|_, _| {});
        }
        assert!(scope.places[&8].current.len() <= 2 * PRUNE_ABOVE);
        assert!(task(&mut scope, Access::Out).1);
    }

    #[test]
    fn waiting_in_a_scope_leaves_no_trace() {
        let mut scope = Scope::<()>::default();
        let (writer, _) = task(&mut scope, Access::Out);
        let team = crate::worker::current().team();
        let waiter = Node::new(team, None);
        scope.wait_only(&waiter, &[item(8, Access::In), item(9, Access::Out)], None);
        assert!(!waiter.seal());
        writer.complete(|_, _| {});
        assert!(waiter.is_ready());
        assert!(task(&mut scope, Access::Out).1);
    }

    #[test]
    fn all_memory_comes_between_what_was_before_and_what_follows() {
        let mut scope = Scope::<()>::default();
        let all = [item(7, Access::In), item(ALL_MEMORY, Access::Out)];
        let (reader, ready) = task_with(&mut scope, &[item(1, Access::In)]);
        assert!(ready);
        let (writer, ready) = task_with(&mut scope, &[item(2, Access::Out)]);
        assert!(ready);
        let (everything, ready) = task_with(&mut scope, &all);
        assert!(!ready);
        let (after, ready) = task_with(&mut scope, &[item(3, Access::In)]);
        assert!(!ready);
        let waiter = Node::new(crate::worker::current().team(), None);
        scope.wait_only(&waiter, &[item(9, Access::In)], None);
        assert!(!waiter.seal());
        let (again, ready) = task_with(&mut scope, &all);
        assert!(!ready);
        reader.complete(|_, _| {});
        assert!(!everything.is_ready());
        writer.complete(|_, _| {});
        assert!(everything.is_ready() && !after.is_ready());
        everything.complete(|_, _| {});
        assert!(after.is_ready() && waiter.is_ready() && !again.is_ready());
        after.complete(|_, _| {});
        assert!(again.is_ready());
    }
}
