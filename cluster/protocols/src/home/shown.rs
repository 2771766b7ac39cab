//! What pages show that this node does not know of, where loads need not acquire.
//!
//! A home serves a page that it is writing, and diffs are part of pages before their intervals
//! are known. Threads that only read do not see that, unless the program has a data race. But
//! a thread that executes an atomic instruction may read what another has stored plainly: a
//! lock that was taken by an exchange and given back by a store. Such a store is the last of
//! what its writer did; what came before must be known here before the thread goes on.
//!
//! So each copy says what it shows ([`crate::PageCopy`]), an interval of its home that has not
//! ended included. What is unknown of that is remembered with the page, and a thread that has
//! executed an atomic instruction there has the sequencer ask for it: then the interval ends.

use super::sharing::note;
use super::{Actions, Home};
use crate::message::Request;
use crate::order::Version;
use crate::state::State;
use crate::{Body, Interval, Operation, PageSet, Violation, WriteNotice};
use fathomp_types::{PageId, ThreadId};

impl<B: Clone + Body> Home<B> {
    /// Whether it is remembered what pages show.
    pub(super) fn notes_what_is_shown(&self) -> bool {
        self.config.remembers_unseen && !self.config.loads_acquire
    }

    /// A page at home here is about to be served, and is as it was before that: what must be
    /// known before it is seen, beside its versions.
    pub(super) fn note_what_it_follows(&mut self, page: PageId) {
        let entry = self.table.get(page);
        let unwatched = entry.state == State::Untouched;
        if self.config.loads_acquire {
            if unwatched {
                self.note_knowledge(page);
            }
            return;
        }
        if !self.notes_what_is_shown() || unwatched && !entry.pinned && self.config.watch_home {
            return;
        }
        // A page that is watched shows what others must know only if it was written in the open
        // interval; another one if something was, as it may have been written after that.
        let shows_open = match entry.state {
            State::Untouched => entry.pinned && self.runs() || self.has_begun(),
            State::Written | State::Foreseen | State::Dirty => self.runs() || self.has_begun(),
            _ => false,
        };
        if shows_open {
            // That includes all that this node knows of when it ends.
            let interval = self.order.interval.next();
            self.shown_open = interval;
            note(self.after.entry(page).or_default(), (self.me, interval));
        } else if unwatched {
            self.note_knowledge(page);
        }
    }

    /// Whether threads run here, as far as is known.
    fn runs(&self) -> bool {
        !self.order.is_at_barrier()
    }

    /// Whether something may have been written in the open interval. At a barrier, that was by
    /// a thread that takes no part in it: pinned pages are among the written ones because they
    /// were served.
    fn has_begun(&self) -> bool {
        match self.runs() {
            true => !self.dirty.is_empty() || self.has_pages_ahead(),
            false => self.dirty.iter().any(|page| !self.table.get(*page).pinned),
        }
    }

    /// A page at home here was perhaps written after what this node knows of.
    fn note_knowledge(&mut self, page: PageId) {
        let news = |version: &Version| version.0 != self.me && !self.knew_at_start(*version);
        let known: Vec<Version> = self.order.seen.iter().filter(news).collect();
        if !known.is_empty() {
            let after = self.after.entry(page).or_default();
            known.into_iter().for_each(|version| note(after, version));
        }
    }

    /// A copy has come that shows these. A thread may have seen what the last one showed, and
    /// not asked yet.
    pub(super) fn note_what_came(&mut self, page: PageId, shown: impl Iterator<Item = Version>) {
        if !self.notes_what_is_shown() {
            return;
        }
        let mut unknown = self.after.remove(&page).unwrap_or_default();
        shown.for_each(|version| note(&mut unknown, version));
        unknown.retain(|version| self.is_unknown(*version));
        if !unknown.is_empty() {
            self.after.insert(page, unknown);
        }
    }

    /// Whether this node has to learn of an interval: not of its own.
    fn is_unknown(&self, version: Version) -> bool {
        version.0 != self.me && !self.order.knows(&[version])
    }

    /// What a page here may show and this node does not know of.
    fn unknown_in(&self, page: PageId) -> Vec<Version> {
        let at_home = self.table.get(page).home == self.me;
        let versions = at_home.then(|| self.versions_of(page));
        let after = self.after.get(&page).into_iter().flatten().copied();
        let mut unknown: Vec<_> = versions.into_iter().flatten().chain(after).collect();
        unknown.retain(|version| self.is_unknown(*version));
        unknown
    }

    /// Whether a page may show what this node does not know of; or another thread has learned
    /// of it, and diffs that came before are under way.
    pub(super) fn may_show_unknown(&self, page: PageId) -> bool {
        let notes = self.notes_what_is_shown() && self.exists(page);
        notes && (!self.is_settled() || !self.unknown_in(page).is_empty())
    }

    /// A thread waits until nothing of that is unknown.
    pub(super) fn learn_what_is_shown(
        &mut self,
        thread: ThreadId,
        page: PageId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.exists(page) {
            return Err(Violation::Runtime(
                "an atomic instruction outside the shared areas",
            ));
        }
        let unknown = self.unknown_in(page);
        self.order.learn_for(thread, unknown, actions);
        self.settle(actions)
    }

    /// Others have seen something of an interval, and have to be told of it: it ends, if it has
    /// not. If this node is at a barrier where it cannot tell any more, who asks learns of it
    /// there, or asks again.
    pub(super) fn end_if_seen(&mut self, interval: Interval, actions: &mut Actions<B>) {
        if interval <= self.order.interval || self.has_to_wait(Operation::Flush) {
            return;
        }
        let notice = match self.end_interval(actions) {
            Some(notice) => notice,
            None => {
                let notice = self.end_empty_interval();
                if self.order.is_at_barrier() {
                    let own = self.take_own();
                    self.order.wrote_more(own);
                }
                notice
            }
        };
        self.order.exchange(Request::Publish, Some(notice), actions);
    }

    /// Ends the open interval although nothing was written in it, or what was need not be told
    /// any more: others wait for its end.
    fn end_empty_interval(&mut self) -> WriteNotice {
        let interval = self.order.end_interval();
        self.ended_empty = Some(interval);
        self.empty_notice(interval)
    }

    /// The same when this node comes to a barrier, if others have seen something of it: they do
    /// not come there before they have been told.
    pub(super) fn end_if_shown(&mut self) -> Option<WriteNotice> {
        let is_shown = self.shown_open > self.order.interval;
        is_shown.then(|| self.end_empty_interval())
    }

    fn empty_notice(&self, interval: Interval) -> WriteNotice {
        WriteNotice {
            writer: self.me,
            interval,
            pages: PageSet::default(),
            recalls: false,
            late: false,
            first: false,
            knew: Vec::new(),
        }
    }

    /// What a barrier has to tell besides pages: that an interval has ended, without which others
    /// would wait for it afterwards.
    pub(super) fn take_ended_empty(&mut self) -> Option<WriteNotice> {
        let interval = self.ended_empty.take()?;
        Some(self.empty_notice(interval))
    }

    /// A barrier has told all that had ended before. What was written by threads that take no
    /// part in it may be shown, and is not known yet.
    pub(super) fn forget_what_was_shown(&mut self) {
        let mut after = std::mem::take(&mut self.after);
        if self.notes_what_is_shown() {
            let open = (self.me, self.order.interval.next());
            let has_begun = !self.dirty.is_empty();
            after.retain(|_, versions| {
                versions.retain(|version| match version.0 == self.me {
                    true => *version == open && has_begun,
                    false => self.is_unknown(*version),
                });
                !versions.is_empty()
            });
            self.after = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::message::{Control, Message};
    use crate::{Access, Action, Area, Input, Placement, Protocol};
    use fathomp_types::NodeId;

    const THREAD: ThreadId = ThreadId(0);

    /// Node `me` of two, where the first page is at home at node 0 and the second at node 1.
    fn node(me: u16) -> Home<u32> {
        let area = Area {
            pages: 2,
            home: Placement::Cyclic(1),
        };
        let config = Config::usual(2, vec![area], false, false);
        Home::new(NodeId(me), config).unwrap()
    }

    fn step(node: &mut Home<u32>, input: Input<u32>) -> Vec<Action<u32>> {
        let mut actions = Vec::new();
        node.step(input, &mut actions).unwrap();
        node.invariants().unwrap();
        actions
    }

    fn message(from: u16, message: impl Into<Message<u32>>) -> Input<u32> {
        Input::Message {
            from: NodeId(from),
            message: message.into(),
        }
    }

    fn fetch(page: u32) -> Message<u32> {
        Message::Fetch {
            epoch: 0,
            pages: PageId(page).into(),
            need: Vec::new(),
        }
    }

    /// What is said of the page that is served.
    fn after(actions: &[Action<u32>]) -> Vec<Version> {
        let mut served = actions.iter().filter_map(|action| match action {
            Action::Send(_, Message::Pages { copies, .. }) => Some(copies[0].after.clone()),
            _ => None,
        });
        served.next().unwrap()
    }

    /// The notices that are told.
    fn told(actions: &[Action<u32>]) -> Vec<Interval> {
        let exchanges = actions.iter().filter_map(|action| match action {
            Action::Send(_, Message::Control(Control::Exchange { notice, .. })) => notice.as_ref(),
            _ => None,
        });
        exchanges.map(|notice| notice.interval).collect()
    }

    fn fault(page: u32, access: Access) -> Input<u32> {
        Input::Fault {
            thread: THREAD,
            page: PageId(page),
            access,
        }
    }

    fn pages(page: u32, after: Vec<Version>) -> Message<u32> {
        Message::Pages {
            epoch: 0,
            first: PageId(page),
            copies: vec![crate::PageCopy {
                versions: Vec::new(),
                after,
                content: 4096,
            }],
        }
    }

    /// Node 1 has written a page of node 0 when it serves one that nobody has watched.
    fn serves_while_it_writes() -> Home<u32> {
        let mut writer = node(1);
        step(&mut writer, fault(0, Access::Write));
        step(&mut writer, message(0, pages(0, Vec::new())));
        let served = step(&mut writer, message(0, fetch(1)));
        assert_eq!(after(&served), [(NodeId(1), Interval(1))]);
        writer
    }

    #[test]
    fn an_interval_ends_of_which_others_have_seen_something() {
        let mut writer = serves_while_it_writes();
        let (epoch, interval) = (0, Interval(1));
        let demand = || message(0, Control::Demand { epoch, interval });
        assert_eq!(told(&step(&mut writer, demand())), [interval]);
        assert_eq!(told(&step(&mut writer, demand())), []);
    }

    #[test]
    fn a_home_that_has_written_nothing_since_shows_nothing_more() {
        let mut home = node(1);
        let served = step(&mut home, message(0, fetch(1)));
        assert_eq!(after(&served), []);
    }

    /// Others do not come to the barrier before they know of it.
    #[test]
    fn a_node_that_comes_to_a_barrier_ends_what_it_has_shown() {
        let mut writer = serves_while_it_writes();
        // As if what was written need not be told any more.
        let dirty = std::mem::take(&mut writer.dirty);
        dirty
            .iter()
            .for_each(|page| writer.table.entry(*page).state = State::Clean);
        let (thread, operation) = (THREAD, Operation::Barrier);
        step(&mut writer, Input::Operation { thread, operation });
        let demand = message(0, Control::demand(0));
        assert_eq!(told(&step(&mut writer, demand)), [Interval(1)]);
    }

    #[test]
    fn a_thread_waits_until_it_is_known_what_its_copy_showed_also_if_that_is_gone() {
        let mut asks = node(0);
        step(&mut asks, fault(1, Access::Write));
        let shown = (NodeId(1), Interval(1));
        step(&mut asks, message(1, pages(1, vec![shown])));
        assert!(asks.may_show_unknown(PageId(1)));
        assert!(!asks.may_show_unknown(PageId(0)));
        asks.drop_copy(PageId(1), crate::heuristics::Why::News, &mut Vec::new());
        asks.dirty.clear();
        let (thread, operation) = (THREAD, Operation::Learn(PageId(1)));
        let asked = step(&mut asks, Input::Operation { thread, operation });
        let demand = Control::Demand {
            epoch: 0,
            interval: shown.1,
        };
        assert_eq!(asked, [Action::Send(shown.0, demand.into())]);
        let publish = Control::Exchange {
            epoch: 0,
            request: Request::Publish,
            notice: Some(WriteNotice {
                writer: shown.0,
                interval: shown.1,
                pages: PageSet::from_sorted(&[PageId(1)]),
                recalls: false,
                late: false,
                first: false,
                knew: Vec::new(),
            }),
        };
        let told = step(&mut asks, message(1, publish));
        assert_eq!(told, [Action::Resume(THREAD)]);
        assert!(!asks.may_show_unknown(PageId(1)));
    }
}
