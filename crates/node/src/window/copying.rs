//! Taking pages out of other nodes' memory where what is part of them differs from page to
//! page (the homeless protocol).

use super::Window;
use crate::copies::Copies;
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::order::Version;
use fathomp_dsm::{Offer, Taking, Wanted};
use fathomp_sys::cluster::backing::Backing;
use fathomp_sys::cluster::copy::PageCopy;
use fathomp_sys::cluster::pages::Pages;
use std::collections::HashMap;
use std::sync::atomic::{Ordering, fence};

/// A page that has come: how it was offered, what is surely part of it, and its content.
type Copy = (Offer, Vec<Version>, Box<PageCopy>);

/// What has come of pages of another node.
type Taken = HashMap<PageId, Copy>;

/// How often it is tried to take a page if its owner comes in between.
const TRIES: usize = 4;

/// What came of trying to take a page.
enum Tried {
    Taken(Copy),
    /// It may not be taken.
    Left,
    /// Its owner has come in between.
    Disturbed,
}

impl Window {
    /// What nodes show of pages that differ in what is part of them.
    pub(crate) fn copies(&self) -> Option<&Copies> {
        self.all.copies.as_ref()
    }

    /// What others keep of this node's pages.
    pub(crate) fn kept(&self, room: impl FnMut() -> Box<PageCopy>) -> Vec<(PageId, Box<PageCopy>)> {
        let keeps = self.all.keeps.as_ref();
        keeps
            .map(|keeps| keeps.take(self.me, room))
            .unwrap_or_default()
    }

    /// Copies pages that another node offers, where each has other intervals in it: how they were
    /// offered, what is surely part of them, and their content. None if there are none.
    pub(crate) fn copy(
        &self,
        from: NodeId,
        wanted: Wanted,
        pages: &Pages,
        mut room: impl FnMut() -> Box<PageCopy>,
    ) -> Option<(Taking, Taken)> {
        let (view, backing) = self.view(from).zip(self.backing(from))?;
        let copies = self.copies()?;
        let shows = || view.shows(wanted.epoch).then_some(());
        shows()?;
        // Before it is looked at what pages are: of what is learned later nothing is relied on.
        let known = wanted.known(from, copies.shown(from)?);
        let mut taken = Taken::new();
        for page in wanted.pages.iter() {
            let mut tries = (0..TRIES).map(|_| {
                let there = (from, backing, known.as_slice());
                self.try_to_copy(there, wanted, page, pages, &mut room)
            });
            if let Some(Tried::Taken(copy)) = tries.find(|t| !matches!(t, Tried::Disturbed)) {
                taken.insert(page, copy);
            }
        }
        shows()?;
        let taking = wanted.taking(|page| taken.get(&page).map_or(Offer::Closed, |of| of.0));
        (!taking.taken.is_empty()).then_some((taking, taken))
    }

    /// Copies a page of another node, its memory and what is surely part of its pages given.
    fn try_to_copy(
        &self,
        (from, backing, known): (NodeId, &Backing, &[Version]),
        wanted: Wanted,
        page: PageId,
        pages: &Pages,
        room: &mut impl FnMut() -> Box<PageCopy>,
    ) -> Tried {
        let Some((copies, keeps)) = self.copies().zip(self.all.keeps.as_ref()) else {
            return Tried::Left;
        };
        let Some(said) = copies.said(from, page) else {
            return Tried::Left;
        };
        let offer = said.offer().unwrap_or(wanted.unless_said);
        if !copies.admits(from, page, &wanted) {
            return Tried::Left;
        }
        let versions = match offer {
            Offer::Open | Offer::Twin => known.to_vec(),
            Offer::Lent if wanted.borrows || wanted.keeps => known.to_vec(),
            Offer::Old => wanted.known(from, copies.shown_then(from, said).unwrap_or_default()),
            Offer::Lent | Offer::Closed => return Tried::Left,
            // The homeless protocol offers nothing so.
            Offer::Reserved | Offer::Twinned | Offer::Updated => return Tried::Left,
        };
        if versions.is_empty() {
            return Tried::Left;
        }
        let mut copy = room();
        let copied = |copy: &mut PageCopy, said| {
            let copied = match offer {
                Offer::Twin => copies.twin(from, said, copy).is_some(),
                _ => pages.copy_out(backing, page, copy).is_ok(),
            };
            fence(Ordering::Acquire);
            copied && copies.said(from, page) == Some(said)
        };
        if offer != Offer::Lent || wanted.borrows {
            return match copied(&mut copy, said) {
                true => Tried::Taken((offer, versions, copy)),
                false => Tried::Disturbed,
            };
        }
        let Some(claimed) = copies.claim(from, page, said) else {
            return Tried::Disturbed;
        };
        let Some(announced) = keeps.announce(from, self.me, page) else {
            copies.unclaim(from, page, claimed, said);
            return Tried::Left;
        };
        let done = match copied(&mut copy, claimed) {
            true => announced.done(&copy),
            false => {
                announced.cancel();
                false
            }
        };
        if done {
            return Tried::Taken((offer, versions, copy));
        }
        // Its owner does not know that it was to be kept.
        copies.unclaim(from, page, claimed, said);
        Tried::Disturbed
    }
}
