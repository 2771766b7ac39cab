//! Pages that their owner writes unwatched: which intervals a node that fetches one has to know
//! of, and which of them it does not know of yet.
//!
//! A thread sees in such a page the owner's last writes, and may have to see the owner's earlier
//! writes to other pages. Where loads acquire, any thread has to: the owner ends its
//! interval before it serves the page, and the page is not shown before that is known. Otherwise
//! a thread that only reads sees nothing that is newer, unless the program has a data race. But a
//! thread that executes an atomic instruction may read what another has stored plainly: a lock
//! that was taken by an exchange and given back by a store. So each copy says what it follows
//! ([`crate::PageCopy::after`]), an interval of its owner that has not ended included; what is
//! unknown of that is remembered with the page, and a thread that has executed an atomic
//! instruction there has the sequencer ask for it: then the interval ends. The home-based protocol
//! does the same (`home/shown.rs`).

use super::fetch::note;
use super::{Actions, Homeless};
use crate::order::Version;
use crate::{Interval, Violation};
use fathomp_types::{PageId, ThreadId};

impl<B> Homeless<B> {
    /// Whether it is remembered what pages show.
    pub(super) fn notes_what_is_shown(&self) -> bool {
        let config = &self.config;
        config.remembers_unseen && !config.loads_acquire && !config.stays_writable
    }

    /// Others are about to see what this node has written unwatched: what they have to know is
    /// noted in `opened`.
    pub(super) fn show_unwatched(&mut self, actions: &mut Actions<B>) {
        if self.config.loads_acquire {
            if !self.is_standing() {
                self.publish(actions);
            }
            self.opened = self.order.seen.iter().collect();
        } else if self.notes_what_is_shown() {
            self.opened = self.order.seen.iter().collect();
            if self.may_have_written() {
                let open = (self.me, self.order.interval.next());
                note(&mut self.opened, open);
            }
        }
    }

    /// Whether pages of which others have copies were perhaps written in the open interval, all of
    /// which it names. Pinned ones, which it names because they were served, were not while the
    /// node is at a barrier.
    fn may_have_written(&self) -> bool {
        let mut unnamed = self.unnamed.iter();
        unnamed.any(|page| !self.is_standing() || !self.is_mine(*page))
    }

    /// A page that this node owns and writes unwatched is watched from now on: others have
    /// written it on a copy of before, or changes of it are postponed.
    pub(super) fn stop_writing_unwatched(&mut self, actions: &mut Actions<B>) {
        if self.config.loads_acquire {
            self.publish(actions);
        }
        self.show_unwatched(actions);
    }

    /// A copy has come that follows `after`, all of which has to be known here before a thread
    /// sees the copy. Returns it, or remembers it where it has to be known later. A thread may
    /// have seen what the last copy showed, and not asked yet.
    pub(super) fn note_what_came(&mut self, page: PageId, after: Vec<Version>) -> Vec<Version> {
        if !self.notes_what_is_shown() {
            return after;
        }
        let news = after.into_iter().filter(|v| !self.order.knows(&[*v]));
        let news: Vec<_> = news.collect();
        if !news.is_empty() {
            let shown = self.shown.entry(page).or_default();
            news.into_iter().for_each(|version| note(shown, version));
        }
        Vec::new()
    }

    /// This node has learned of intervals.
    pub(super) fn forget_what_is_known(&mut self) {
        let order = &self.order;
        self.shown.retain(|_, shown| {
            shown.retain(|version| !order.knows(&[*version]));
            !shown.is_empty()
        });
    }

    /// Whether a page may show what this node does not know of; or another thread has learned of
    /// it, and what pinned pages lack is under way.
    pub(super) fn may_show_unknown(&self, page: PageId) -> bool {
        self.notes_what_is_shown() && (self.is_pulling() || self.shown.contains_key(&page))
    }

    /// A thread waits until nothing of that is unknown.
    pub(super) fn learn_what_is_shown(
        &mut self,
        thread: ThreadId,
        page: PageId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let unknown = self.shown.get(&page).cloned().unwrap_or_default();
        self.order.learn_for(thread, unknown, actions);
        self.settle(actions)
    }

    /// Others have seen something of an interval, and have to be told of it: it ends, if it has
    /// not.
    pub(super) fn end_if_seen(&mut self, interval: Interval, actions: &mut Actions<B>) {
        if interval > self.order.interval {
            self.publish(actions);
        }
    }

    /// Nothing is remembered that is known by now.
    pub(super) fn check_shown(&self) -> Result<(), String> {
        let known = self.shown.iter().find(|(_, shown)| {
            let mut shown = shown.iter();
            shown.len() == 0 || shown.any(|version| self.order.knows(&[*version]))
        });
        match known {
            Some((page, shown)) => {
                let page = page.0;
                Err(format!("page {page} is to show {shown:?}, which is known"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homeless::Config;
    use crate::message::{Control, Message, PageCopy, Request};
    use crate::{
        Access, Action, Area, Input, Operation, PageSet, Placement, Protocol, WriteNotice,
    };
    use fathomp_types::NodeId;

    const THREAD: ThreadId = ThreadId(0);

    /// Node `me` of two. The first page is owned by node 0, the next ones are pinned at node 1.
    fn node(me: u16, loads_acquire: bool) -> Homeless<u32> {
        let area = |pages, home| Area { pages, home };
        let areas = vec![
            area(1, Placement::At(NodeId(0))),
            area(2, Placement::Pinned(NodeId(1))),
        ];
        Homeless::new(NodeId(me), Config::usual(2, areas, 1, false, loads_acquire)).unwrap()
    }

    fn step(node: &mut Homeless<u32>, input: Input<u32>) -> Vec<Action<u32>> {
        let mut actions = Vec::new();
        node.step(input, &mut actions).unwrap();
        node.check().unwrap();
        actions
    }

    fn message(from: u16, message: impl Into<Message<u32>>) -> Input<u32> {
        Input::Message {
            from: NodeId(from),
            message: message.into(),
        }
    }

    fn fetch(page: u32) -> Input<u32> {
        let (epoch, pages) = (0, PageId(page).into());
        let need = Vec::new();
        message(0, Message::Fetch { epoch, pages, need })
    }

    fn demand(interval: u32) -> Input<u32> {
        let (epoch, interval) = (0, Interval(interval));
        message(0, Control::Demand { epoch, interval })
    }

    fn asks(operation: Operation) -> Input<u32> {
        let thread = THREAD;
        Input::Operation { thread, operation }
    }

    /// The intervals that the served page follows.
    fn after(actions: &[Action<u32>]) -> Vec<Version> {
        let mut served = actions.iter().filter_map(|action| match action {
            Action::Send(_, Message::Pages { copies, .. }) => Some(copies[0].after.clone()),
            _ => None,
        });
        served.next().unwrap()
    }

    /// The notices that are told.
    fn told(actions: &[Action<u32>]) -> Vec<WriteNotice> {
        let exchanges = actions.iter().filter_map(|action| match action {
            Action::Send(_, Message::Control(Control::Exchange { notice, .. })) => notice.clone(),
            _ => None,
        });
        exchanges.collect()
    }

    /// Or two pages of a stack that another node uses by turns would be fetched at each access.
    #[test]
    fn fetching_one_pinned_page_takes_no_other_away() {
        let mut owner = node(1, false);
        assert_eq!(after(&step(&mut owner, fetch(1))), []);
        let open = (NodeId(1), Interval(1));
        for page in [2, 1, 2] {
            let served = step(&mut owner, fetch(page));
            assert_eq!(told(&served), []);
            assert_eq!(after(&served), [open]);
        }
        let told = told(&step(&mut owner, demand(1)));
        let pages = PageSet::from_sorted(&[1, 2].map(PageId));
        assert_eq!((told.len(), &told[0].pages), (1, &pages));
        assert_eq!(self::told(&step(&mut owner, demand(1))), []);
    }

    #[test]
    fn a_node_at_a_barrier_shows_nothing_more() {
        let mut owner = node(1, false);
        step(&mut owner, fetch(1));
        step(&mut owner, asks(Operation::Barrier));
        assert_eq!(
            after(&step(&mut owner, fetch(2))),
            [(NodeId(1), Interval(1))]
        );
        assert_eq!(
            after(&step(&mut owner, fetch(1))),
            [(NodeId(1), Interval(1))]
        );
    }

    #[test]
    fn where_loads_acquire_an_owner_ends_its_interval_first() {
        let mut owner = node(1, true);
        step(&mut owner, fetch(1));
        let served = step(&mut owner, fetch(2));
        assert_eq!(told(&served).len(), 1);
        assert_eq!(after(&served), [(NodeId(1), Interval(1))]);
    }

    #[test]
    fn a_thread_waits_until_it_is_known_what_its_copy_showed() {
        let mut reads = node(0, false);
        let (thread, page, access) = (THREAD, PageId(1), Access::Read);
        let fault = Input::Fault {
            thread,
            page,
            access,
        };
        step(&mut reads, fault);
        let shown = (NodeId(1), Interval(1));
        let copy = PageCopy {
            versions: Vec::new(),
            after: vec![shown],
            content: 4096,
        };
        let pages = Message::Pages {
            epoch: 0,
            first: page,
            copies: vec![copy],
        };
        let resumed = step(&mut reads, message(1, pages));
        // A thread that only reads waits for nothing.
        assert!(resumed.contains(&Action::Resume(THREAD)));
        assert!(reads.may_expose_unseen_writes(page) && !reads.may_expose_unseen_writes(PageId(2)));
        let asked = step(&mut reads, asks(Operation::Learn(page)));
        let (epoch, interval) = (0, shown.1);
        let demand = Control::Demand { epoch, interval };
        assert_eq!(asked, [Action::Send(shown.0, demand.into())]);
        let notice = WriteNotice {
            writer: shown.0,
            interval,
            pages: PageSet::from_sorted(&[page]),
            recalls: false,
            late: false,
            first: false,
            knew: Vec::new(),
        };
        let publish = Control::Exchange {
            epoch,
            request: Request::Publish,
            notice: Some(notice),
        };
        let learned = step(&mut reads, message(1, publish));
        assert!(learned.contains(&Action::Resume(THREAD)));
        assert!(!reads.may_expose_unseen_writes(page));
    }
}
