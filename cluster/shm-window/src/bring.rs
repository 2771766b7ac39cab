//! Bringing diffs into other nodes' memory.

use crate::primitive::{Ordering, fence};
use crate::view::{View, admission, begin_writing, end_writing, interval};
use crate::window::Window;
use fathomp_protocols::{Admits, Bring, Offer, Underway};

impl Window {
    /// Brings what changed in pages to their home, if it admits that: `write` writes it into
    /// the home's memory, and says whether that could be done. False if it has to be sent.
    #[must_use]
    pub fn bring(&self, bring: &Bring, underway: &Underway, write: impl FnOnce() -> bool) -> bool {
        let Some(view) = self.memory.view(bring.to) else {
            return false;
        };
        let Some(writing) = view.writing.get(usize::from(self.me.0)) else {
            return false;
        };
        begin_writing(writing);
        let done = self.bring_as_writer(&view, bring, underway, write);
        end_writing(writing);
        done.is_some()
    }

    fn bring_as_writer(
        &self,
        view: &View,
        bring: &Bring,
        underway: &Underway,
        write: impl FnOnce() -> bool,
    ) -> Option<()> {
        let me = usize::from(self.me.0);
        let (received, begun) = view.received.get(me).zip(view.begun.get(me))?;
        let admits = view.admits.load(Ordering::Acquire);
        let mut admitted = [Admits::All, Admits::Parts].into_iter();
        let admitted = admitted
            .any(|which| which.admits(bring.more) && admits == admission(bring.epoch, which));
        let mut offers = bring.pages.iter().map(|page| view.offers.of(*page));
        let last = u64::from(bring.interval.0);
        if !admitted
            || !underway.may_bring(bring.to, interval(received))
            || !offers.all(Offer::admits_diffs)
        {
            return None;
        }
        begun.fetch_max(last, Ordering::Relaxed);
        // Those who see something of what is written next, and look then, see that it was
        // begun.
        fence(Ordering::Release);
        if !write() {
            return None;
        }
        if !bring.more {
            received.fetch_max(last, Ordering::AcqRel);
        }
        Some(())
    }
}
