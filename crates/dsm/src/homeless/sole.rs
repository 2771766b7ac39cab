//! Pages that one node alone wrote between two barriers: at the second, that node has
//! all of them, and everybody knows that nobody else has. It owns them from now on and
//! writes them unwatched, as pages are at first (Amza, Cox, Dwarkadas, Zwaenepoel:
//! "Software DSM Protocols that Adapt between Single Writer and Multiple Writer",
//! HPCA 1997).

use super::{Actions, Homeless, State};
use crate::order::Version;
use crate::stretches::Stretches;
use crate::{Action, Notice, Offer, PageRange, Protection, Violation};
use fathomp_base::{NodeId, PageId};

/// Who wrote a page between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writers {
    Nobody,
    One(NodeId),
    /// Several, or one whose copy may lack something.
    Many,
}

impl Writers {
    fn and(&mut self, writer: NodeId, late: bool) {
        *self = match *self {
            _ if late => Self::Many,
            Self::Nobody => Self::One(writer),
            Self::One(one) if one == writer => *self,
            Self::One(_) | Self::Many => Self::Many,
        }
    }
}

impl<B: Clone> Homeless<B> {
    /// A barrier has told `news`, which none before has told, and which everybody knows
    /// now. The same happens at all nodes.
    pub(super) fn settle_pages(
        &mut self,
        news: &[Notice],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let mut written = Stretches::default();
        for notice in news {
            for range in notice.pages.ranges() {
                written.change(*range, &Writers::Nobody, |writers: &mut Writers| {
                    writers.and(notice.writer, notice.late);
                });
            }
        }
        for (pages, writers) in written.iter() {
            if let Writers::One(writer) = writers {
                self.settle_range(pages, *writer, actions)?;
            }
        }
        Ok(())
    }

    fn settle_range(
        &mut self,
        pages: PageRange,
        writer: NodeId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let mut left = Some(pages);
        while let Some(pages) = left {
            let (place, alike) = self.table.layout().stretch(pages.first());
            let (now, rest) = pages.split(alike);
            if !place.pinned {
                self.forget_history(now);
                self.table.settle(now, writer);
                self.settle_known(now, writer, actions)?;
            }
            left = rest;
        }
        Ok(())
    }

    /// What everybody knows of is part of the writer's copy, and so of every later one.
    fn forget_history(&mut self, pages: PageRange) {
        let told = &self.told;
        let is_told = |version: &Version| told.covers(version.0, version.1);
        let forget = |versions: &mut Vec<Version>| versions.retain(|v| !is_told(v));
        let before = self.history.weight(pages, Vec::len);
        self.history.change(pages, &Vec::new(), forget);
        self.history.prune(pages, Vec::is_empty);
        self.noted -= before - self.history.weight(pages, Vec::len);
    }

    fn settle_known(
        &mut self,
        pages: PageRange,
        writer: NodeId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let mut left = Some(pages);
        while let Some(pages) = left
            && let Some(page) = self.table.known(pages, |_| false)
        {
            self.settle_page(page, writer, actions)?;
            (_, left) = pages.split(page.0 - pages.first().0 + 1);
        }
        Ok(())
    }

    fn settle_page(
        &mut self,
        page: PageId,
        writer: NodeId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let entry = self.table.entry(page);
        let before = std::mem::replace(&mut entry.state, State::Untouched);
        entry.owner = writer;
        match entry.twin {
            Some(interval) if self.told.covers(self.me, interval) => {
                entry.twin = None;
                self.kept = self.kept.saturating_sub(1);
                actions.push(Action::DropTwin(page));
            }
            _ => self.make_diff(page, actions),
        }
        self.missing.remove(&page);
        if writer == self.me {
            if before != State::Valid {
                return Err(Violation::Runtime(
                    "a page of one writer that it does not have",
                ));
            }
            Action::protect(actions, page, Protection::ReadWrite);
            self.offer(page, Offer::Lent);
            return Ok(());
        }
        self.offer(page, Offer::Closed);
        if before != State::Untouched {
            self.miss(page);
        }
        if before == State::Valid {
            Action::protect(actions, page, Protection::None);
        }
        Ok(())
    }

    /// A copy is dropped because another node has written the page since the last barrier.
    /// Nobody without a data race reads that before: if the copy was fetched in advance
    /// meanwhile, it was of no use.
    fn miss(&mut self, page: PageId) {
        let epoch = self.order.epoch;
        let entry = self.table.entry(page);
        entry.missed = entry.ahead != epoch;
        entry.unwanted = !entry.missed;
    }

    /// A page that I own and write unwatched was written elsewhere since the last
    /// barrier, on a copy of before.
    pub(super) fn lose(&mut self, page: PageId, version: Version, actions: &mut Actions<B>) {
        if self.config.loads_acquire {
            // Whoever sees what was written unwatched must know what was written before.
            self.publish(actions);
            self.opened = Some(self.order.seen.clone());
        }
        self.table.entry(page).state = State::Invalid;
        self.missing.entry(page).or_default().push(version);
        self.offer_old(page);
        Action::protect(actions, page, Protection::None);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Message};
    use super::*;
    use crate::{Access, Area, Content, Input, Operation, Placement, Protocol};
    use fathomp_base::ThreadId;

    type Node = Homeless<Content>;

    /// Two nodes that share a page, at first node 0's.
    fn cluster() -> [Node; 2] {
        let area = Area {
            pages: 1,
            home: Placement::At(NodeId(0)),
        };
        let config = Config::usual(2, vec![area], 1, false, false);
        [0, 1].map(|me| Homeless::new(NodeId(me), config.clone()).unwrap())
    }

    /// Takes inputs in, and all messages that follow; what else is done at each node.
    fn run(nodes: &mut [Node; 2], inputs: &[(usize, Input<Message<Content>>)]) -> [Vec<String>; 2] {
        let mut done = [Vec::new(), Vec::new()];
        let mut waiting = std::collections::VecDeque::from(inputs.to_vec());
        while let Some((at, input)) = waiting.pop_front() {
            let mut actions = Vec::new();
            nodes[at].step(input, &mut actions).unwrap();
            for action in actions {
                if let Action::Send(to, message) = action {
                    let from = NodeId(u16::try_from(at).unwrap());
                    let message = Node::fill(message, |content| content);
                    waiting.push_back((usize::from(to.0), Input::Message { from, message }));
                } else {
                    done[at].push(format!("{action:?}"));
                }
            }
        }
        done
    }

    fn fault(at: usize, access: Access) -> (usize, Input<Message<Content>>) {
        let (thread, page) = (ThreadId(0), PageId(0));
        let fault = Input::Fault {
            thread,
            page,
            access,
        };
        (at, fault)
    }

    fn barrier() -> [(usize, Input<Message<Content>>); 2] {
        let (thread, operation) = (ThreadId(0), Operation::Barrier);
        [0, 1].map(|at| (at, Input::Operation { thread, operation }))
    }

    const PAGE: &str = "PageRange { first: PageId(0), pages: 1 }";

    #[test]
    fn what_one_node_writes_is_its_own_until_another_reads() {
        let mut nodes = cluster();
        let wrote = run(&mut nodes, &[fault(1, Access::Write)]);
        assert!(
            wrote[1].contains(&"Twin(PageId(0))".to_owned()),
            "{wrote:?}"
        );
        let met = run(&mut nodes, &barrier());
        let protect = |what| format!("Protect({PAGE}, {what})");
        let resume = "Resume(ThreadId(0))".to_owned();
        assert_eq!(met[0], [protect("None"), resume.clone()]);
        let closed = protect("Read");
        let dropped = "DropTwin(PageId(0))".to_owned();
        let own = [closed, dropped, protect("ReadWrite"), resume.clone()];
        assert_eq!(met[1], own);
        // Whatever it writes now, nobody is told.
        let met = run(&mut nodes, &barrier());
        assert_eq!(met, [0, 1].map(|_| vec![resume.clone()]));
        let read = run(&mut nodes, &[fault(0, Access::Read)]);
        assert_eq!(read[1], [protect("Read")]);
        assert_eq!(read[0][1..], [protect("Read"), resume]);
    }

    /// Two pages, at first one of each node. Node 1 writes node 0's and comes to a barrier,
    /// which ends its interval; then node 0 reads node 1's own.
    #[test]
    fn a_page_written_unwatched_tells_nothing_where_loads_do_not_acquire() {
        let areas = [0, 1].map(|home| Area {
            pages: 1,
            home: Placement::At(NodeId(home)),
        });
        let messages = |loads_acquire| {
            let config = Config::usual(2, areas.to_vec(), 1, false, loads_acquire);
            let mut nodes = [0, 1].map(|me| Homeless::new(NodeId(me), config.clone()).unwrap());
            run(&mut nodes, &[fault(1, Access::Write)]);
            run(&mut nodes, &barrier()[1..]);
            let (thread, page, access) = (ThreadId(0), PageId(1), Access::Read);
            let fault = Input::Fault {
                thread,
                page,
                access,
            };
            let mut waiting = std::collections::VecDeque::from([(0, fault)]);
            let mut messages = 0;
            while let Some((at, input)) = waiting.pop_front() {
                let mut actions = Vec::new();
                nodes[at].step(input, &mut actions).unwrap();
                for action in actions {
                    if let Action::Send(_, message) = action {
                        messages += 1;
                        let from = NodeId(u16::try_from(at).unwrap());
                        let message = Node::fill(message, |content| content);
                        waiting.push_back((1 - at, Input::Message { from, message }));
                    }
                }
            }
            messages
        };
        // The page, and what was asked for. If loads acquire, the interval as well.
        assert_eq!([false, true].map(messages), [2, 4]);
    }

    #[test]
    fn what_both_write_is_nobodys() {
        let mut nodes = cluster();
        run(&mut nodes, &[fault(1, Access::Write)]);
        run(&mut nodes, &[fault(0, Access::Write)]);
        let met = run(&mut nodes, &barrier());
        let none = format!("Protect({PAGE}, None)");
        assert!(met.iter().all(|done| done.contains(&none)), "{met:?}");
        let read = run(&mut nodes, &[fault(0, Access::Read)]);
        assert!(
            read[0].iter().any(|done| done.starts_with("Apply")),
            "{read:?}"
        );
    }
}
