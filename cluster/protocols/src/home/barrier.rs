//! What a barrier means for pages: everybody learns of everything, and the books
//! are balanced.

use super::release::Closed;
use super::{Actions, Home};
use crate::heuristics::{Event, Why};
use crate::message::Request;
use crate::state::State;
use crate::{
    Access, Action, Body, Interval, Operation, PageRange, PageSet, Violation, WriteNotice,
};
use fathomp_types::{NodeId, PageId, ThreadId};
use std::collections::BTreeMap;

/// Who wrote a page between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writers {
    One(NodeId),
    Many,
}

/// What was written right before a barrier into pages at home elsewhere. It stays
/// here until everybody has arrived: a page that nobody else wrote moves here, and
/// its diff is never made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kept {
    interval: Interval,
    /// By home.
    pages: BTreeMap<NodeId, Vec<PageId>>,
}

/// What threads that take no part in barriers have asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Deferred {
    pub(super) faults: Vec<(ThreadId, PageId, Access)>,
    pub(super) operations: Vec<(ThreadId, Operation)>,
}

impl<B: Clone + Body> Home<B> {
    /// To be called when an operation has ended.
    pub(super) fn enter_barrier(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        if !self.changing.is_idle() {
            return Ok(());
        }
        let Some(thread) = self.order.enters_barrier() else {
            return Ok(());
        };
        let recalled = self.recall_read_leases();
        self.end_leases();
        let closed = self.close_interval(false, false, actions);
        let (last, kept) = closed.map_or((None, None), |closed| {
            let Closed { notice, away, .. } = closed;
            let (interval, pages) = (notice.interval, away);
            (Some(notice), Some(Kept { interval, pages }))
        });
        self.kept = kept;
        let last = last.or_else(|| self.end_if_shown());
        let mut own = self.take_own();
        own.extend(recalled);
        let first = actions.len();
        self.order.arrive(thread, last, own, false, actions);
        self.send_kept_if_told(first, actions);
        self.apply_arrived(actions).map(|_| ())
    }

    /// Pages that others have read, or may have, and whose copies everybody gives up at the
    /// barrier, because they will probably be written here next.
    fn recall_read_leases(&mut self) -> Option<WriteNotice> {
        let (predictor, view) = self.predictor();
        let mut pages = predictor.before_barrier(&view);
        let shared =
            |page: PageId| self.exists(page) && self.table.get(page).state == State::Shared;
        pages.retain(|page| shared(*page));
        let pages: PageSet = pages.into_iter().collect();
        (!pages.is_empty()).then_some(WriteNotice {
            writer: self.me,
            interval: self.order.interval,
            pages,
            recalls: true,
            late: false,
            first: false,
            knew: Vec::new(),
        })
    }

    /// What this node wrote in this epoch and was not asked for before, a notice for
    /// each home.
    pub(super) fn take_own(&mut self) -> Vec<WriteNotice> {
        let mut notices = Vec::new();
        for own in self.own.values_mut() {
            let mut pages = std::mem::take(&mut own.pages);
            pages.sort_unstable();
            for page in &pages {
                self.table.entry(*page).noted = false;
            }
            let twice = pages.windows(2).filter(|pair| pair[0] == pair[1]);
            let mut twice: Vec<_> = twice.map(|pair| pair[0]).collect();
            twice.dedup();
            pages.dedup();
            let is_first = |page: &mut PageId| self.table.get(*page).blank;
            let firsts: Vec<_> = pages.extract_if(.., is_first).collect();
            let all = [(pages, false), (twice, false), (firsts, true)].into_iter();
            let all = all.filter(|(pages, _)| !pages.is_empty());
            notices.extend(all.map(|(pages, first)| WriteNotice {
                writer: self.me,
                interval: own.interval,
                pages: PageSet::from_sorted(&pages),
                recalls: false,
                late: false,
                first,
                knew: Vec::new(),
            }));
        }
        notices.extend(self.take_ended_empty());
        notices
    }

    /// Whether an operation cannot be begun before the barrier is over at which this
    /// node is. Others may have left it already: what was written here meanwhile is
    /// then part of the next epoch, where its pages may have other homes. That cannot
    /// be known here, but at the root, before it lets the others go.
    pub(super) fn has_to_wait(&self, operation: Operation) -> bool {
        let told = self.dirty.is_empty() && self.changing.is_told();
        let early = match operation {
            // No home carries one out after it has left the barrier.
            Operation::Change(..) => false,
            Operation::Release(_) => told || self.order.is_root(),
            _ => self.order.is_root(),
        };
        self.written.is_some() || self.order.is_at_barrier() && !early
    }

    /// Others have been told of the last interval before the barrier ends, by one of the
    /// `actions` from the `first` on: they may fetch pages of it. Diffs come first.
    pub(super) fn send_kept_if_told(&mut self, first: usize, actions: &mut Actions<B>) {
        if !self.order.keeps_last_to_itself() {
            let mut diffs = Vec::new();
            self.send_all_kept(&mut diffs);
            actions.splice(first..first, diffs);
        }
    }

    pub(super) fn send_all_kept(&mut self, actions: &mut Actions<B>) {
        self.send_kept(&[], actions);
    }

    /// Sends what was kept, but not of pages which only this node wrote. Homes
    /// wait for a message in any case.
    fn send_kept(&mut self, written: &[Stretch], actions: &mut Actions<B>) {
        let Some(Kept { interval, pages }) = self.kept.take() else {
            return;
        };
        for (home, mut pages) in pages {
            pages.retain(|page| {
                let stretch = stretch_of(written, *page);
                let alone = stretch.filter(|stretch| stretch.writers == Writers::One(self.me));
                let entry = self.table.get(*page);
                let moves = alone.is_some_and(|alone| entry.moves_to(self.me, alone.first));
                let moves = self.config.migrate && moves;
                if moves {
                    actions.push(Action::DropTwin(*page));
                }
                !moves
            });
            self.send_diffs(home, interval, &pages, false, actions);
        }
    }

    pub(super) fn everybody_arrived(
        &mut self,
        notices: Vec<WriteNotice>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if self.kept.is_some() {
            self.send_kept(&written(&notices), actions);
        }
        // Each notice is about pages of one home.
        let me = self.me;
        for notice in notices.iter().filter(|notice| notice.writer != me) {
            let first = notice.pages.ranges().first().map(|range| range.first());
            if first.is_some_and(|page| self.table.get(page).home == me) {
                self.require(me, (notice.writer, notice.interval));
            }
        }
        self.written = Some(notices);
        self.settle(actions)
    }

    /// To be called when all diffs for pages at home here that this node knows
    /// of have arrived.
    pub(super) fn leave_barrier_if_complete(
        &mut self,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let Some(notices) = self.written.take() else {
            return Ok(());
        };
        let Deferred {
            mut faults,
            operations,
        } = std::mem::take(&mut self.deferred);
        for (page, pending) in std::mem::take(&mut self.pending) {
            // Perhaps out of date now, and the node that was asked may have left.
            self.table.entry(page).state = State::Untouched;
            let waiters = pending.waiters.into_iter();
            faults.extend(waiters.map(|(thread, access)| (thread, page, access)));
        }
        let (returned, waiting) = self.come_home();
        faults.extend(waiting);
        let mut settled = Vec::new();
        for stretch in written(&notices) {
            self.balance(stretch, &mut settled, actions);
        }
        let wanted = self.settle_pages(&settled, actions);
        self.watch_returned(returned, actions);
        let thread = self.order.leave_barrier(&notices);
        self.start = self.order.seen.clone();
        self.need.clear();
        self.own.clear();
        // Fetches that the barrier has overtaken are made anew.
        self.parked.clear();
        self.versions.clear();
        self.forget_what_was_shown();
        self.order.learn_again(actions);
        self.tell_what_was_lost(actions);
        self.fetch_ahead(wanted, actions);
        actions.extend(thread.map(Action::Resume));
        for (thread, operation) in operations {
            self.operation(thread, operation, actions)?;
        }
        for (thread, page, access) in faults {
            self.fault(thread, page, access, actions)?;
        }
        Ok(())
    }

    /// Threads that take no part in barriers have perhaps written copies that are
    /// gone now: the pages' homes and everybody must hear of it. Their notices name
    /// such pages twice, as if several nodes had written them: nothing is kept here.
    fn tell_what_was_lost(&mut self, actions: &mut Actions<B>) {
        let (me, table) = (self.me, &self.table);
        let mut lost = Vec::new();
        self.dirty.retain(|page| {
            let entry = table.get(*page);
            let untouched = entry.state == State::Untouched;
            lost.extend((untouched && entry.home != me).then_some((*page, entry.home)));
            !(untouched && entry.home == me)
        });
        if !lost.is_empty() {
            let notice = self.end_interval(actions);
            self.order.exchange(Request::Publish, notice, actions);
        }
        for (page, home) in lost {
            self.own.entry(home).or_default().pages.push(page);
        }
    }

    /// What pages' writers in the epoch mean for their homes and their copies.
    /// All nodes come to the same conclusions without a message: the only copy
    /// that stays valid beside the home's is that of a node that alone wrote. (A
    /// copy fetched after the last write would be up to date as well, but the
    /// home could not know of it and would have to keep watching its own writes.)
    fn balance(&mut self, stretch: Stretch, settled: &mut Vec<PageId>, actions: &mut Actions<B>) {
        let Stretch {
            pages,
            writers,
            recalls,
            ..
        } = stretch;
        let mut page = pages.first();
        while u64::from(page.0) < pages.end() {
            let left = u32::try_from(pages.end() - u64::from(page.0)).unwrap_or(u32::MAX);
            let step = match self.table.unknown(page) {
                // Written where it is at home: nothing to be known about it.
                Some((place, alike)) if writers == Writers::One(place.home) => alike.min(left),
                Some((_, alike)) if writers == Writers::Many || !self.config.migrate => {
                    alike.min(left)
                }
                _ => {
                    self.balance_page(page, stretch, settled, actions);
                    if !recalls {
                        let several = writers == Writers::Many;
                        self.note(Event::ToldAtBarrier(page, several));
                    }
                    1
                }
            };
            match page.0.checked_add(step) {
                Some(next) => page = PageId(next),
                None => return,
            }
        }
    }

    /// Pages at home here that nobody else has a copy of are added to `settled`.
    fn balance_page(
        &mut self,
        page: PageId,
        stretch: Stretch,
        settled: &mut Vec<PageId>,
        actions: &mut Actions<B>,
    ) {
        let Stretch {
            writers,
            first,
            recalls,
            ..
        } = stretch;
        let (me, migrate) = (self.me, self.config.migrate);
        let entry = self.table.entry(page);
        let home = entry.home;
        let keeper = match writers {
            Writers::One(writer) if writer != home && !entry.pinned => Some(writer),
            Writers::One(_) | Writers::Many => None,
        };
        let moves = migrate && keeper.is_some_and(|writer| entry.moves_to(writer, first));
        let new_home = keeper.filter(|_| moves);
        entry.home = new_home.unwrap_or(home);
        entry.blank &= new_home.is_none();
        entry.last = keeper.filter(|_| !moves);
        if me == entry.home {
            let exclusive = entry.home != home || keeper.is_none();
            if exclusive && !entry.pinned && entry.state != State::Untouched {
                self.stop_expecting(page, actions);
                settled.push(page);
            }
        } else if Some(me) != keeper && (entry.state != State::Untouched || me == home) {
            let why = match writers {
                _ if recalls => Why::Recalled,
                Writers::Many => Why::ManyWriters,
                Writers::One(_) => Why::News,
            };
            self.drop_copy(page, why, actions);
        }
    }
}

/// Pages with the same writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    pages: PageRange,
    writers: Writers,
    /// Nobody had touched them before.
    first: bool,
    /// They have yet to write them.
    recalls: bool,
}

/// Where a page belongs, given all pages written.
fn stretch_of(written: &[Stretch], page: PageId) -> Option<&Stretch> {
    let after = written.partition_point(|stretch| stretch.pages.first() <= page);
    let stretch = written.get(after.checked_sub(1)?)?;
    (u64::from(page.0) < stretch.pages.end()).then_some(stretch)
}

/// All pages that notices name. A writer that names a page twice counts as several.
fn written(notices: &[WriteNotice]) -> Vec<Stretch> {
    let ranges = notices.iter().flat_map(|notice| {
        let kind = [usize::from(notice.recalls), usize::from(notice.first)];
        let ranges = notice.pages.ranges().iter();
        ranges.map(move |range| (*range, notice.writer, kind))
    });
    let mut edges: Vec<_> = ranges
        .flat_map(|(range, writer, kind)| {
            let writer = i64::from(writer.0);
            let first = u64::from(range.first().0);
            [(first, 1, writer, kind), (range.end(), -1, -writer, kind)]
        })
        .collect();
    edges.sort_unstable();
    // Nodes that have written the current page, and nodes that are likely to: how many, the sum
    // of their numbers, which is the node's if there is one, and how many of them say that
    // nobody had touched it before.
    let (mut writers, mut at) = ([(0_i64, 0_i64, 0_i64); 2], 0_u64);
    let mut stretches = Vec::new();
    for (edge, one, writer, [recalls, first]) in edges {
        let pages = u32::try_from(edge - at).ok().zip(u32::try_from(at).ok());
        // What is likely does not count where a node has written.
        let who = writers.iter().position(|(number, ..)| *number > 0);
        if let Some(who) = who
            && let Some(pages) = pages.and_then(|(pages, at)| PageRange::new(PageId(at), pages))
        {
            let (number, sum, firsts) = writers[who];
            stretches.push(Stretch {
                pages,
                writers: match u16::try_from(sum) {
                    Ok(writer) if number == 1 => Writers::One(NodeId(writer)),
                    _ => Writers::Many,
                },
                first: firsts > 0,
                recalls: who == 1,
            });
        }
        writers[recalls].0 += one;
        writers[recalls].1 += writer;
        writers[recalls].2 += if first == 1 { one } else { 0 };
        at = edge;
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(writer: u16, pages: &[u32]) -> WriteNotice {
        WriteNotice {
            writer: NodeId(writer),
            interval: Interval(1),
            pages: pages.iter().copied().map(PageId).collect(),
            recalls: false,
            late: false,
            first: false,
            knew: Vec::new(),
        }
    }

    #[test]
    fn whoever_has_written_counts_more_than_who_is_likely_to() {
        let likely = WriteNotice {
            recalls: true,
            ..notice(0, &[3, 4])
        };
        let found = written(&[notice(5, &[4]), likely]);
        let found: Vec<_> = found.iter().map(|s| (s.writers, s.recalls)).collect();
        let one = |writer| Writers::One(NodeId(writer));
        assert_eq!(found, [(one(0), true), (one(5), false)]);
    }

    #[test]
    fn who_is_alone_may_be_the_first() {
        let first = |writer, pages: &[u32]| WriteNotice {
            first: true,
            ..notice(writer, pages)
        };
        let found = written(&[first(1, &[3, 4]), first(2, &[4, 5]), notice(2, &[6])]);
        let found: Vec<_> = found.iter().map(|s| (s.writers, s.first)).collect();
        let one = |writer| Writers::One(NodeId(writer));
        let both = (Writers::Many, true);
        assert_eq!(
            found,
            [(one(1), true), both, (one(2), true), (one(2), false)]
        );
    }

    #[test]
    fn stretches_know_their_writers() {
        let notices = [
            notice(0, &[1, 2, 3]),
            notice(5, &[3, 4]),
            notice(5, &[9]),
            notice(2, &[u32::MAX]),
        ];
        let found: Vec<_> = written(&notices)
            .into_iter()
            .map(|stretch| {
                (
                    stretch.pages.first().0,
                    stretch.pages.len(),
                    stretch.writers,
                )
            })
            .collect();
        let one = |writer| Writers::One(NodeId(writer));
        assert_eq!(
            found,
            [
                (1, 2, one(0)),
                (3, 1, Writers::Many),
                (4, 1, one(5)),
                (9, 1, one(5)),
                (u32::MAX, 1, one(2)),
            ]
        );
    }
}
