//! What holds between two steps.

use super::{Homeless, State, Tidying};
use crate::PageRange;
use fathomp_types::PageId;

/// Says what does not hold, if it does not.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

impl<B> Homeless<B> {
    pub(super) fn check_state(&self) -> Result<(), String> {
        let pages = PageRange::new(PageId(0), self.table.layout().pages());
        let known = pages.map(|pages| self.table.known(pages, |_| false));
        for page in known.into_iter().flatten() {
            let checked = self.check_page(page);
            checked.map_err(|what| format!("page {} at node {}: {what}", page.0, self.me))?;
        }
        self.check_pending()?;
        self.check_held()?;
        self.check_postponed()?;
        self.check_shown()?;
        let is_tidying = self.tidying != Tidying::No;
        ensure(is_tidying || self.deferred.is_empty(), || {
            "faults wait for a tidying that is over".to_owned()
        })?;
        ensure(self.is_standing() || self.operations.is_empty(), || {
            "operations wait for a barrier that is over".to_owned()
        })?;
        let mut own = self.own.iter();
        ensure(
            own.all(|notice| notice.interval <= self.order.interval),
            || "an interval was told before it ended".to_owned(),
        )?;
        let epochs = self.order.epoch..=self.order.epoch + 1;
        let mut early = self.early.iter();
        ensure(early.all(|(_, m)| epochs.contains(&m.epoch())), || {
            "a message of a past epoch waits".to_owned()
        })
    }

    fn check_page(&self, page: PageId) -> Result<(), String> {
        let entry = self.table.get(page);
        let is_mine = self.is_mine(page);
        let missing = self.missing.get(&page).map_or(&[][..], Vec::as_slice);
        let history = self.history.get(page).map_or(&[][..], Vec::as_slice);
        let is_pending = self.pending.contains_key(&page);
        let is_unnamed = self.unnamed.contains(&page);
        let state = entry.state;
        let fine = match state {
            _ if is_mine => state == State::Untouched && entry.twin.is_none(),
            State::Untouched => missing.is_empty() && entry.twin.is_none(),
            State::Valid => missing.is_empty(),
            State::Held => missing.is_empty() && self.postponed.has_of(page),
            State::Writable => missing.is_empty() && entry.twin.is_none() == is_unnamed,
            State::Invalid => !missing.is_empty() && entry.twin.is_none(),
            State::Pending => entry.twin.is_none(),
        };
        ensure(fine, || {
            format!("{entry:?} does not go with {missing:?} missing, unnamed: {is_unnamed}")
        })?;
        let expected = match is_mine {
            true => entry.served,
            false => state == State::Writable && entry.twin.is_none(),
        };
        ensure(is_unnamed == expected, || {
            format!("{entry:?} is to be named by the open interval: {is_unnamed}")
        })?;
        let expected = match is_mine {
            true => self.pulls.contains(&page),
            false => state == State::Pending,
        };
        ensure(is_pending == expected, || {
            format!("{entry:?} is on its way: {is_pending}")
        })?;
        ensure(!is_mine || is_pending != missing.is_empty(), || {
            format!("{missing:?} missing of a pinned page, and it is pulled: {is_pending}")
        })?;
        ensure(missing.iter().all(|v| history.contains(v)), || {
            format!("{missing:?} missing of {history:?}")
        })?;
        ensure(self.order.knows(history), || {
            format!("{history:?} has intervals that are not known")
        })?;
        let kept = |(writer, interval): &(_, _)| {
            *writer != self.me || is_mine || self.diffs.contains(&(page, *interval))
        };
        ensure(history.iter().all(kept), || {
            format!("a diff of {history:?} is not kept")
        })?;
        if let Some(interval) = entry.twin {
            let named = history.contains(&(self.me, interval));
            let kept = self.diffs.contains(&(page, interval));
            ensure(named && kept, || {
                format!("{entry:?} has a twin that {history:?} does not name")
            })?;
            let is_writable = state == State::Writable;
            let is_forbidden = !self.config.keeps_writable() || self.tidying != Tidying::No;
            ensure(!(is_writable && is_forbidden), || {
                "it is writable, which the end of its interval should have ended".to_owned()
            })?;
        }
        Ok(())
    }

    /// Every page on its way has been asked for, or waits for what it shows to be known, or for
    /// pinned pages.
    fn check_pending(&self) -> Result<(), String> {
        for (page, pending) in &self.pending {
            let is_awaited = !pending.asked.is_empty() || self.is_pulling();
            ensure(is_awaited || pending.page.is_some(), || {
                format!(
                    "page {} at node {}: nobody was asked for it",
                    page.0, self.me
                )
            })?;
            ensure(!pending.asked.contains_key(&self.me), || {
                format!("page {} at node {}: it asks itself", page.0, self.me)
            })?;
        }
        let mut pulls = self.pulls.iter();
        ensure(pulls.all(|page| self.pending.contains_key(page)), || {
            "a pinned page is pulled that is not on its way".to_owned()
        })
    }
}
