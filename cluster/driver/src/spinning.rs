//! Threads that leave loops of the program's own: what they may have seen, and what they have
//! to learn for that (see [`fathomp_protocols::SpinReads`]).

use crate::{Driver, Machine};
use fathomp_protocols::{Body, Lacks, Protocol};
use fathomp_types::PageId;
use std::ops::Range;

impl<P: Protocol<B>, B: Body> Driver<P, B> {
    /// Remembers what a page was that loops look at: other content comes next.
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
    pub fn lacking(&mut self, looked: Option<(PageId, Range<usize>)>) -> (Lacks, u64) {
        let page = looked.as_ref().map(|(page, _)| *page);
        let remembers = self.protocol.remembers_unseen_writes();
        let lacks = if !self.looks.is_covered(looked) {
            match page.filter(|_| remembers) {
                Some(page) if self.protocol.may_expose_unseen_writes(page) => {
                    Lacks::WhatThePageShows
                }
                Some(page) => {
                    self.looks.cover_page(page, self.looks.arrivals());
                    Lacks::Nothing
                }
                None => Lacks::WhatOthersHaveToTell,
            }
        } else if page.is_some_and(|page| !self.protocol.is_at_home(page)) {
            // Elsewhere nothing comes but by being installed.
            Lacks::Nothing
        } else if self.protocol.awaits_diffs() {
            Lacks::WhatIsTold
        } else {
            Lacks::Nothing
        };
        (lacks, self.looks.arrivals())
    }

    /// A thread has [learned](fathomp_protocols::Operation::Learn) of what a page showed before so
    /// many arrivals.
    pub fn cover_page(&mut self, page: PageId, arrivals: u64) {
        self.looks.cover_page(page, arrivals);
    }

    /// Everybody has told since what was known before so many arrivals, and it was learned of.
    pub fn cover(&mut self, arrivals: u64) {
        self.looks.cover(arrivals);
    }
}
