//! Threads that leave loops of the program's own: what they may have seen, and what they have
//! to learn for that (see [`fathomp_protocols::SpinReads`]).

use crate::{Driver, Machine};
use fathomp_protocols::{Body, Lacks, Protocol};
use fathomp_types::PageId;
use std::ops::Range;

impl<P: Protocol<B>, B: Body> Driver<P, B> {
    /// Remembers what a page was that loops look at: other content comes next, now or in a
    /// later step.
    pub(crate) fn before_arrival<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        page: PageId,
    ) -> Result<(), M::Error> {
        if self.looks.wants(page) {
            self.looks.before(page, machine.read(page)?);
        }
        Ok(())
    }

    /// The content of a page has come.
    pub(crate) fn arrived<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        page: PageId,
    ) -> Result<(), M::Error> {
        let follows = self.looks.follows(page);
        let content = follows.then(|| machine.read(page)).transpose()?;
        self.looks.arrived(page, content.as_deref());
        Ok(())
    }

    /// What a thread lacks that has left a loop which waits, where it looked at these bytes of
    /// a page, or nobody knows where; and how many arrivals a question covers that is asked
    /// now (see [`Self::cover`]).
    pub fn lacking<M: Machine<Body = B>>(
        &mut self,
        machine: &M,
        looked: Option<(PageId, Range<usize>)>,
    ) -> (Lacks, u64) {
        let page = looked.as_ref().map(|(page, _)| *page);
        let covered = self.looks.is_covered(looked);
        let lacks = if !covered {
            Lacks::WhatOthersHaveToTell
        } else if page.is_some_and(|page| !self.protocol.is_at_home(page)) {
            // Elsewhere nothing comes but by being installed.
            Lacks::Nothing
        } else {
            let is_updated = page.zip(machine.window());
            let is_updated = is_updated.is_none_or(|(page, window)| window.is_updated(page));
            let news = is_updated && self.lacks_news_after_update(machine);
            match news || self.is_behind(machine) {
                true => Lacks::WhatIsTold,
                false => Lacks::Nothing,
            }
        };
        (lacks, self.looks.arrivals())
    }

    /// Whether diffs of intervals may be part of pages here of which this node does not know,
    /// or are missing of which it does.
    pub fn is_behind<M: Machine<Body = B>>(&self, machine: &M) -> bool {
        let there = machine.window().zip(self.protocol.committed());
        let shows = there.is_some_and(|(window, there)| !window.begun(there.known).is_empty());
        shows || self.protocol.awaits_diffs()
    }

    /// Everybody has told since what was known before so many arrivals, and it was learned of.
    pub fn cover(&mut self, arrivals: u64) {
        self.looks.cover(arrivals);
    }
}
