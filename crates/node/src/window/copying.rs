//! Taking pages out of other nodes' memory where what is part of them differs from page to
//! page (the homeless protocol).

use super::Window;
use crate::copies::Copies;
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::order::Version;
use fathomp_dsm::{Offer, Taking, Wanted};
use fathomp_sys::cluster::copy::PageCopy;
use fathomp_sys::cluster::pages::Pages;
use std::collections::HashMap;
use std::sync::atomic::{Ordering, fence};

/// What has come of pages of another node.
type Taken = HashMap<PageId, (Offer, Vec<Version>, Box<PageCopy>)>;

impl Window {
    /// What nodes show of pages that differ in what is part of them.
    pub(crate) fn copies(&self) -> Option<&Copies> {
        self.all.copies.as_ref()
    }

    /// What others keep of this node's pages.
    pub(crate) fn kept(&self) -> Vec<(PageId, Vec<u8>)> {
        let keeps = self.all.keeps.as_ref();
        keeps.map(|keeps| keeps.take(self.me)).unwrap_or_default()
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
        let (copies, all_keeps) = self.copies().zip(self.all.keeps.as_ref())?;
        let shows = || view.shows(wanted.epoch).then_some(());
        shows()?;
        // Before it is looked at what pages are: of what is learned later nothing is relied on.
        let known = wanted.known(from, copies.shown(from)?);
        let mut taken = Taken::new();
        for page in wanted.pages.iter() {
            let mut said = copies.said(from, page)?;
            let offer = said.offer().unwrap_or(wanted.unless_said);
            if !copies.admits(from, page, &wanted) {
                continue;
            }
            let versions = match offer {
                Offer::Open | Offer::Twin => known.clone(),
                Offer::Lent if wanted.borrows || wanted.keeps => known.clone(),
                Offer::Old => wanted.known(from, copies.shown_then(from, said).unwrap_or_default()),
                Offer::Lent | Offer::Closed => continue,
            };
            let keeps = offer == Offer::Lent && !wanted.borrows;
            if keeps {
                let Some(claimed) = copies.claim(from, page, said) else {
                    continue;
                };
                said = claimed;
            }
            let announced = keeps.then(|| all_keeps.announce(from, self.me, page));
            if announced.as_ref().is_some_and(Option::is_none) {
                continue;
            }
            let mut copy = room();
            let copied = match offer {
                Offer::Twin => copies.twin(from, said, &mut copy).is_some(),
                _ => pages.copy_out(backing, page, &mut copy).is_ok(),
            };
            fence(Ordering::Acquire);
            let same = copied && !versions.is_empty() && copies.said(from, page) == Some(said);
            let done = match announced.flatten() {
                Some(announced) if same => announced.done(&copy),
                Some(announced) => {
                    announced.cancel();
                    false
                }
                None => same,
            };
            if done {
                taken.insert(page, (offer, versions, copy));
            }
        }
        shows()?;
        let taking = wanted.taking(|page| taken.get(&page).map_or(Offer::Closed, |of| of.0));
        (!taking.taken.is_empty()).then_some((taking, taken))
    }
}
