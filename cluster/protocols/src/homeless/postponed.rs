//! Changes of words that nobody waits for: the thread never looks at what an atomic instruction
//! found. No node keeps a word here: the node that has the lock of atomic instructions changes it,
//! in its own copy. So changes are collected, and done in batches under that lock, which is taken
//! once for all of them: their pages are brought, written like by a thread, and named by the
//! interval that ends before the lock is given back.
//!
//! A thread must see its own changes. So nobody touches a page of which changes are
//! collected: it is [held](State::Held), or it is not here, and a fault at it waits for the batch.
//! Every operation waits until all changes before it are done. While a thread here has the lock
//! or waits for it, nothing is collected: a batch would wait for the thread, and the thread's
//! fault for the batch.

use super::{Actions, Homeless, State, Tidying};
use crate::message::Request;
use crate::order::ITSELF;
use crate::postponed::{BATCH, InFlight};
use crate::{Access, Action, Change, LockId, Operation, Protection, Violation};
use fathomp_types::{PageId, ThreadId};
use std::collections::BTreeMap;

/// So many may be collected while a batch is under way: then a thread waits for it.
const COLLECTED_MAX: usize = 4 * BATCH;

/// How far a batch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stage {
    /// There is none.
    #[default]
    No,
    /// It waits for the lock. What is collected until then is part of it.
    Asks,
    /// It has the lock, and brings its pages.
    Works,
}

/// Changes that are done next, and what waits for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Batch {
    stage: Stage,
    /// What has yet to be done with the lock, of each page in order.
    changes: BTreeMap<PageId, Vec<Change>>,
    /// Threads that touched pages of which changes are not done.
    faults: Vec<(ThreadId, PageId, Access)>,
    /// Threads here that have the lock of atomic instructions, or wait for it.
    in_section: u32,
}

impl InFlight for Batch {
    fn is_done(&self) -> bool {
        self.stage == Stage::No
    }
}

/// Changes that are postponed here.
pub(super) type Postponed = crate::postponed::Postponed<Batch>;

impl Postponed {
    /// Whether a page's changes are not done.
    pub(super) fn has_of(&self, page: PageId) -> bool {
        self.underway.changes.contains_key(&page) || self.has_collected_of(page)
    }

    /// Whether threads wait for what was collected.
    fn is_waited_for(&self) -> bool {
        self.is_awaited() || !self.underway.faults.is_empty()
    }
}

impl<B> Homeless<B> {
    /// Whether a change of a page can be postponed.
    pub(super) fn can_postpone(&self, page: PageId) -> bool {
        let config = &self.config;
        let exists = page.0 < self.table.layout().pages();
        if !config.postpones || config.loads_acquire || config.keeps_writable() || !exists {
            return false;
        }
        let postponed = &self.postponed;
        let may_add = postponed.collected() < COLLECTED_MAX
            && !postponed.is_waited_for()
            && postponed.underway.in_section == 0;
        let at_barrier =
            self.is_standing() || self.order.comes_to_barrier() || self.tidying != Tidying::No;
        let entry = self.table.get(page);
        let fits = match entry.state {
            _ if self.is_mine(page) => false,
            State::Untouched | State::Valid | State::Held | State::Invalid => true,
            State::Writable | State::Pending => false,
        };
        may_add && !at_barrier && fits
    }

    /// A thread here has changed a page, and does not wait.
    pub(super) fn postpone(
        &mut self,
        page: PageId,
        change: Change,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.can_postpone(page) {
            return Err(Violation::Runtime("a change that cannot be postponed"));
        }
        let entry = self.table.get(page);
        match entry.state {
            State::Untouched if entry.owner == self.me => {
                self.stop_writing_unwatched(actions);
                self.hold(page, actions);
            }
            State::Valid => self.hold(page, actions),
            _ => {}
        }
        if self.postponed.collect(page, change) {
            self.begin_batch(actions)?;
        }
        Ok(())
    }

    fn hold(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.table.entry(page).state = State::Held;
        Action::protect(actions, page, Protection::None);
    }

    /// An operation waits until all changes before it are done. False if they are.
    pub(super) fn waits_for_changes(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        actions: &mut Actions<B>,
    ) -> Result<bool, Violation> {
        if self.postponed.is_done() {
            let in_section = &mut self.postponed.underway.in_section;
            *in_section = match operation {
                Operation::Acquire(LockId::ATOMICS) => in_section.saturating_add(1),
                Operation::Release(LockId::ATOMICS) => in_section.saturating_sub(1),
                _ => *in_section,
            };
            return Ok(false);
        }
        self.postponed.wait(thread, operation);
        self.begin_batch(actions)?;
        Ok(true)
    }

    /// A fault waits until the changes of its page are done. False if there are none.
    pub(super) fn fault_waits(
        &mut self,
        fault: (ThreadId, PageId, Access),
        actions: &mut Actions<B>,
    ) -> Result<bool, Violation> {
        let waits = self.postponed.has_of(fault.1);
        if waits {
            self.postponed.underway.faults.push(fault);
            self.begin_batch(actions)?;
        }
        Ok(waits)
    }

    /// Asks for the lock for what was collected, unless there is a batch.
    fn begin_batch(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        if self.postponed.underway.stage != Stage::No || self.postponed.collected() == 0 {
            return Ok(());
        }
        self.postponed.underway.stage = Stage::Asks;
        let request = Request::Acquire(LockId::ATOMICS, ITSELF);
        self.order.ask(ITSELF, request, None, actions)
    }

    /// Goes on with a batch as far as can be.
    pub(super) fn go_on_with_changes(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        if self.postponed.underway.stage == Stage::Asks && !self.order.waits_for_itself() {
            let collected = self.postponed.take_collected();
            let batch = &mut self.postponed.underway;
            batch.stage = Stage::Works;
            for (page, change) in collected {
                batch.changes.entry(page).or_default().push(change);
            }
            let pages: Vec<_> = batch.changes.keys().copied().collect();
            for page in pages {
                self.bring_for_changes(page, actions);
            }
        }
        let batch = &self.postponed.underway;
        match batch.stage == Stage::Works && batch.changes.is_empty() {
            true => self.end_batch(actions),
            false => Ok(()),
        }
    }

    /// Changes a page if it is here, or when it is.
    fn bring_for_changes(&mut self, page: PageId, actions: &mut Actions<B>) {
        if self.table.get(page).state == State::Held {
            self.table.entry(page).state = State::Valid;
            self.make_writable(page, actions);
            self.do_changes(page, actions);
            return;
        }
        self.fetch(page, actions);
        if let Some(pending) = self.pending.get_mut(&page) {
            pending.waiters.push((ITSELF, Access::Write));
        }
    }

    /// A page is here, and can be written: does what the batch has for it.
    pub(super) fn do_changes(&mut self, page: PageId, actions: &mut Actions<B>) {
        let changes = self.postponed.underway.changes.remove(&page);
        let changes = changes.into_iter().flatten();
        actions.extend(changes.map(|change| Action::Write(page, change)));
    }

    /// All of a batch is done.
    fn end_batch(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        self.postponed.underway.stage = Stage::No;
        self.release(LockId::ATOMICS, None, actions);
        for (thread, page, access) in std::mem::take(&mut self.postponed.underway.faults) {
            self.fault(thread, page, access, actions)?;
        }
        if self.postponed.has_batch() || self.postponed.is_waited_for() {
            self.begin_batch(actions)?;
        }
        if self.postponed.is_done() {
            for (thread, operation) in self.postponed.take_waiting() {
                self.operation(thread, operation, actions)?;
            }
        }
        Ok(())
    }

    /// What holds between two steps.
    pub(super) fn check_postponed(&self) -> Result<(), String> {
        let postponed = &self.postponed;
        let batch = &postponed.underway;
        let mut pages = postponed.pages().chain(batch.changes.keys().copied());
        let touched = pages.find(|page| {
            let state = self.table.get(*page).state;
            matches!(state, State::Valid | State::Writable) || self.is_mine(*page)
        });
        if let Some(page) = touched {
            return Err(format!(
                "page {} can be touched, and its changes are not done",
                page.0
            ));
        }
        let is_done = postponed.is_done();
        if !is_done && (self.is_standing() || batch.in_section > 0) {
            return Err("changes are not done at a barrier or in a section".to_owned());
        }
        if is_done && postponed.is_waited_for() {
            return Err("what waits for changes waits though they are done".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homeless::Config;
    use crate::message::{Control, Message, PageCopy};
    use crate::{Area, ChangeKind, Input, Interval, Placement, Protocol};
    use fathomp_types::NodeId;

    const OWN: PageId = PageId(1);
    const OTHERS: PageId = PageId(0);
    const THREAD: ThreadId = ThreadId(0);

    /// Node 1 of two, each of which owns a page.
    fn node() -> Homeless<u32> {
        let area = |node| Area {
            pages: 1,
            home: Placement::At(NodeId(node)),
        };
        let areas = vec![area(0), area(1)];
        let config = Config {
            postpones: true,
            ..Config::usual(2, areas, 1, false, false)
        };
        Homeless::new(NodeId(1), config).unwrap()
    }

    fn step(node: &mut Homeless<u32>, input: Input<u32>) -> Vec<Action<u32>> {
        let mut actions = Vec::new();
        node.step(input, &mut actions).unwrap();
        node.check().unwrap();
        actions
    }

    fn add(page: PageId) -> Input<u32> {
        Input::Postpone(page, Change::new(8, 4, ChangeKind::Add, 1).unwrap())
    }

    fn asks(operation: Operation) -> Input<u32> {
        Input::Operation {
            thread: THREAD,
            operation,
        }
    }

    fn from_root(message: Message<u32>) -> Input<u32> {
        let from = NodeId(0);
        Input::Message { from, message }
    }

    fn granted() -> Input<u32> {
        from_root(Control::answer(0, ITSELF, Some(Vec::new())).into())
    }

    /// What the sequencer is asked.
    fn requests(actions: &[Action<u32>]) -> Vec<(Request, bool)> {
        let exchange = |action: &Action<u32>| match action {
            Action::Send(
                _,
                Message::Control(Control::Exchange {
                    request, notice, ..
                }),
            ) => Some((request.clone(), notice.is_some())),
            _ => None,
        };
        actions.iter().filter_map(exchange).collect()
    }

    fn is_written(action: &&Action<u32>) -> bool {
        matches!(action, Action::Write(..))
    }

    #[test]
    fn a_batch_is_one_section() {
        let mut node = node();
        for _ in 1..BATCH {
            assert_eq!(requests(&step(&mut node, add(OWN))), []);
        }
        let acquire = Request::Acquire(LockId::ATOMICS, ITSELF);
        assert_eq!(requests(&step(&mut node, add(OWN))), [(acquire, false)]);
        // What comes until then is done with it.
        assert_eq!(requests(&step(&mut node, add(OWN))), []);
        let done = step(&mut node, granted());
        assert_eq!(done.iter().filter(is_written).count(), BATCH + 1);
        let release = Request::Release(LockId::ATOMICS);
        assert_eq!(requests(&done), [(release, true)]);
        let flush = requests(&step(&mut node, asks(Operation::Flush)));
        assert_eq!(flush, [(Request::Flush(THREAD), false)]);
    }

    /// Or other threads would have it wait for ever.
    #[test]
    fn nothing_is_collected_while_something_waits_for_it() {
        for input in [
            asks(Operation::Flush),
            Input::Fault {
                thread: THREAD,
                page: OWN,
                access: Access::Read,
            },
        ] {
            let mut node = node();
            step(&mut node, add(OWN));
            assert!(node.batches_atomics(OWN) && node.batches_atomics(OTHERS));
            let waits = step(&mut node, input);
            assert!(!waits.contains(&Action::Resume(THREAD)));
            assert!(!node.batches_atomics(OWN) && !node.batches_atomics(OTHERS));
        }
    }

    #[test]
    fn nothing_is_collected_at_a_barrier_or_beside_a_section() {
        let mut node = node();
        step(&mut node, asks(Operation::Barrier));
        assert!(!node.batches_atomics(OWN));
        let mut node = self::node();
        step(&mut node, asks(Operation::Acquire(LockId::ATOMICS)));
        assert!(!node.batches_atomics(OWN));
    }

    /// A node that sees what was written there unwatched must know what was written before.
    #[test]
    fn what_was_written_before_a_page_is_held_is_told() {
        let mut node = node();
        let fault = Input::Fault {
            thread: THREAD,
            page: OTHERS,
            access: Access::Write,
        };
        step(&mut node, fault);
        let copy = PageCopy {
            versions: Vec::new(),
            after: Vec::new(),
            content: 1,
        };
        let pages = Message::Pages {
            epoch: 0,
            first: OTHERS,
            copies: vec![copy],
        };
        step(&mut node, from_root(pages));
        assert!(!node.batches_atomics(OTHERS), "it is written");
        step(&mut node, add(OWN));
        let (epoch, pages, need) = (0, OWN.into(), Vec::new());
        let served = step(&mut node, from_root(Message::Fetch { epoch, pages, need }));
        let mut after = served.iter().filter_map(|action| match action {
            Action::Send(_, Message::Pages { copies, .. }) => Some(copies[0].after.clone()),
            _ => None,
        });
        assert_eq!(after.next(), Some(vec![(NodeId(1), Interval(1))]));
    }
}
