//! What holds at a node between two steps, whatever has happened.

use super::Home;
use super::page::Entry;
use crate::state::State;
use crate::{Body, Interval};
use fathomp_types::PageId;

/// Says so if something does not hold.
fn holds(condition: bool, what: &str) -> Result<(), String> {
    match condition {
        true => Ok(()),
        false => Err(what.to_owned()),
    }
}

impl<B: Clone + Body> Home<B> {
    pub(super) fn invariants(&self) -> Result<(), String> {
        for (page, entry) in self.table.entries() {
            let say = |what| format!("page {} ({entry:?}): {what}", page.0);
            self.check_state(page, entry).map_err(say)?;
        }
        self.check_lists()?;
        self.check_postponed()?;
        self.check_leases()?;
        self.check_barrier()
    }

    /// A page's state goes with its home, and with the lists that it should be in.
    fn check_state(&self, page: PageId, entry: &Entry) -> Result<(), String> {
        let at_home = entry.home == self.me;
        let belongs = match entry.state {
            State::Untouched | State::Dirty => true,
            State::Shared | State::Foreseen | State::Leased => at_home && !entry.pinned,
            State::Written => at_home,
            State::Pending | State::Clean | State::Expected => !at_home,
        };
        holds(belongs, "its state does not go with its home")?;
        let is_pending = self.pending.contains_key(&page);
        holds(
            (entry.state == State::Pending) == is_pending,
            "it is pending, or is not, unlike its state says",
        )?;
        let is_written = matches!(entry.state, State::Written | State::Dirty);
        let is_listed = self.dirty.contains(&page) || self.exclusive.is_open(page);
        holds(
            is_written == is_listed,
            "it is among the written pages, or is not, unlike its state says",
        )?;
        let is_ahead = self.opened_ahead.iter().any(|pages| pages.contains(page));
        holds(
            entry.state != State::Foreseen || is_ahead,
            "nobody remembers that it was opened ahead",
        )?;
        holds(
            (entry.state == State::Leased) == self.is_leased_out(page),
            "it is leased to another node, or is not, unlike its state says",
        )?;
        let own = self.own.get(&entry.home);
        holds(
            !entry.noted || own.is_some_and(|own| own.pages.contains(&page)),
            "the next barrier does not tell that it was written",
        )
    }

    /// Changes are collected of pages that are not written otherwise, and not at barriers.
    fn check_postponed(&self) -> Result<(), String> {
        let fits = self.postponed.pages().all(|page| {
            let state = self.table.get(page).state;
            matches!(state, State::Untouched | State::Clean)
        });
        holds(fits, "changes of a page are collected that is written")?;
        let elsewhere = self
            .postponed
            .pages()
            .all(|page| self.home_of(page) != self.me);
        holds(elsewhere, "changes of a page at home here are collected")?;
        // But for those that the root does before it counts this node as arrived.
        let done = self.postponed.is_done() || self.order.arrives_at_root();
        holds(
            done || !self.order.is_at_barrier(),
            "changes are not done at a barrier",
        )?;
        let collected = self.postponed.collected() > 0;
        holds(
            !collected || !self.order.is_at_barrier(),
            "changes are collected at a barrier",
        )
    }

    fn check_lists(&self) -> Result<(), String> {
        let entries = self.table.entries().map(|(_, entry)| entry);
        let expected = entries.filter(|entry| entry.state == State::Expected);
        holds(
            expected.count() == self.expected,
            "the number of expected copies is wrong",
        )?;
        let waits = |parked: &super::Parked| {
            parked.pages().any(|page| self.is_leased_out(page)) || !self.has_received(parked.need())
        };
        holds(
            self.parked.iter().all(waits),
            "something waits for pages that have arrived",
        )?;
        holds(
            self.notes_what_is_shown() || self.shown_open == Interval::default(),
            "an interval is promised to others that do not ask for it",
        )?;
        let mut arrived = self.arrived.iter();
        holds(
            self.config.loads_acquire || arrived.next().is_none(),
            "diffs wait though nothing has to come before them",
        )
    }

    fn check_leases(&self) -> Result<(), String> {
        for page in self.exclusive.leased() {
            let entry = self.table.get(page);
            let is_copy = matches!(entry.state, State::Clean | State::Expected | State::Dirty);
            holds(
                is_copy && entry.home != self.me,
                "a page is leased that is not here to be kept",
            )?;
        }
        holds(
            self.exclusive.has_ended() || !self.order.is_at_barrier(),
            "a lease lasts beyond the barrier",
        )
    }

    fn check_barrier(&self) -> Result<(), String> {
        let at_barrier = self.order.is_at_barrier();
        holds(
            at_barrier || self.kept.is_none() && self.written.is_none(),
            "something is kept for a barrier that is over",
        )?;
        let defers = !self.deferred.faults.is_empty() || !self.deferred.operations.is_empty();
        holds(
            at_barrier || !defers,
            "a thread waits for the end of a barrier that is over",
        )
    }
}
