//! Taking pages out of other nodes' memory.

use crate::primitive::{Ordering, fence};
use crate::view::note;
use crate::window::Window;
use fathomp_protocols::{Fetch, PageRange, Taking};

impl Window {
    /// Takes those pages of another node that it offers. `copy` copies pages out of its
    /// memory to their places here, where the program must not touch them meanwhile; it says
    /// whether that could be done. None if nothing was taken: what was copied counts for
    /// nothing then.
    ///
    /// The copies contain what is needed, and nothing that the other node's threads wrote in a
    /// later epoch.
    #[must_use]
    pub fn take(&self, fetch: &Fetch, copy: impl FnMut(PageRange) -> bool) -> Option<Taking> {
        let view = self.memory.view(fetch.from)?;
        if !view.shows(fetch.epoch) || !view.has_received(&fetch.need) {
            return None;
        }
        let taking = fetch.taking(|page| view.offers.of(page));
        if taking.taken.is_empty() || !taking.taken.ranges().iter().copied().all(copy) {
            return None;
        }
        // If it has begun another epoch meanwhile, it may offer less, and has perhaps been
        // writing: a seqlock whose sequence number is the epoch.
        fence(Ordering::Acquire);
        if !view.shows(fetch.epoch) {
            return None;
        }
        for range in taking.taken.ranges() {
            let number = view.noted.fetch_add(1, Ordering::Relaxed);
            let place = usize::try_from(number).ok().and_then(|n| view.notes.get(n));
            if let Some(place) = place {
                place.store(note(*range), Ordering::Relaxed);
            }
        }
        Some(taking)
    }
}
