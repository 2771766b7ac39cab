//! Bringing diffs into other nodes' memory.

use super::{Window, admission, interval};
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::{Admits, Brought, Interval, Offer, PageBytes, Seen, Underway};
use fathomp_sys::cluster::pages::Pages;
use std::sync::atomic::{AtomicU64, Ordering};

impl Window {
    /// Writes what changed in pages since their twins were made into the memory of their
    /// home. False if it has to be sent.
    pub(crate) fn bring<'a>(
        &self,
        to: NodeId,
        brought: Brought,
        underway: &Underway,
        pages: &Pages,
        twins: impl Iterator<Item = (PageId, &'a PageBytes)>,
    ) -> bool {
        let Some((view, backing)) = self.view(to).zip(self.backing(to)) else {
            return false;
        };
        let me = usize::from(self.me.0);
        let (Some(bringing), Some(received)) = (view.bringing.get(me), view.received.get(me))
        else {
            return false;
        };
        bringing.fetch_add(1, Ordering::SeqCst);
        let admits = view.admits.load(Ordering::SeqCst);
        let mut admitted = [Admits::All, Admits::Parts].into_iter();
        let admitted = admitted
            .any(|which| which.admits(brought.more) && admits == admission(brought.epoch, which));
        let mut offers = brought.diffs.iter().map(|(page, _)| view.offer(*page));
        let mut done = admitted
            && underway.may_bring(to, interval(received))
            && offers.all(Offer::admits_diffs);
        if done {
            if let Some(begun) = view.begun.get(me) {
                begun.fetch_max(brought.interval.0.into(), Ordering::SeqCst);
            }
            for (page, twin) in twins {
                done &= pages.merge_into(backing, page, twin).is_ok();
            }
        }
        if done && !brought.more {
            received.fetch_max(brought.interval.0.into(), Ordering::AcqRel);
        }
        bringing.fetch_sub(1, Ordering::SeqCst);
        done
    }

    /// The last intervals of others whose diffs are here, as far as they are news.
    pub(crate) fn brought(&self, known: &Seen) -> Vec<(NodeId, Interval)> {
        news(self.view(self.me).map_or(&[], |view| view.received), known)
    }

    /// The last intervals of others whose diffs they have begun to bring, as far as they are
    /// news.
    pub(crate) fn begun(&self, known: &Seen) -> Vec<(NodeId, Interval)> {
        news(self.view(self.me).map_or(&[], |view| view.begun), known)
    }
}

/// The last interval of each node that is not known.
fn news(words: &[AtomicU64], known: &Seen) -> Vec<(NodeId, Interval)> {
    let last = (0..).map(NodeId).zip(words.iter().map(interval));
    last.filter(|(node, last)| !known.covers(*node, *last))
        .collect()
}
