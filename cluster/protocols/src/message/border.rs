//! What holds of every message, whatever the state of who sends it and who gets it. Both ends ask:
//! a sender that finds something wrong has a fault of its own, a receiver names the sender.

use super::{Control, Message, Request, Term};
use crate::interval::{ROOT, Version};
use crate::{PageRange, WriteNotice};
use fathomp_types::{NodeId, PageId};

/// What there is in a cluster, the same at all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Nodes.
    pub nodes: u16,
    /// Pages that they share.
    pub pages: u32,
}

impl Bounds {
    fn has_node(self, node: NodeId) -> bool {
        node.0 < self.nodes
    }

    fn has_page(self, page: PageId) -> bool {
        page.0 < self.pages
    }

    fn has_pages_to(self, end: u64) -> bool {
        end <= u64::from(self.pages)
    }

    fn has_all(self, versions: &[Version]) -> bool {
        versions.iter().all(|(writer, _)| self.has_node(*writer))
    }

    fn has_notice(self, notice: &WriteNotice) -> bool {
        let exist = self.has_node(notice.writer) && self.has_all(&notice.knew);
        // What is only likely to be written was not written first.
        exist && self.has_pages_to(notice.pages.end()) && !(notice.recalls && notice.first)
    }
}

fn that(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    holds.then_some(()).ok_or(otherwise)
}

impl<C> Message<C> {
    /// What is wrong with a message from one node to another, if something is.
    ///
    /// # Errors
    /// The first such thing, as what `from` does.
    pub fn check(&self, from: NodeId, to: NodeId, bounds: Bounds) -> Result<(), &'static str> {
        let exist = bounds.has_node(from) && bounds.has_node(to);
        that(exist, "is, or talks to, a node that there is none of")?;
        match self {
            Self::Control(control) => control.check(from, to, bounds),
            Self::Fetch { pages, need, .. } => {
                that(
                    bounds.has_pages_to(pages.end()),
                    "fetches pages that do not exist",
                )?;
                that(bounds.has_all(need), "names writers that do not exist")
            }
            Self::Pages { first, copies, .. } => {
                let number = u32::try_from(copies.len()).unwrap_or(u32::MAX);
                let pages = PageRange::new(*first, number);
                let exist = pages.is_some_and(|pages| bounds.has_pages_to(pages.end()));
                that(exist, "sends pages that do not exist")?;
                let known = copies
                    .iter()
                    .all(|copy| bounds.has_all(&copy.versions) && bounds.has_all(&copy.after));
                that(known, "names writers that do not exist")
            }
            Self::Diffs { diffs, .. } => {
                let exist = diffs.iter().all(|(page, _)| bounds.has_page(*page));
                that(exist, "sends diffs of pages that do not exist")
            }
            Self::DiffsWanted {
                page, intervals, ..
            } => {
                that(
                    bounds.has_page(*page),
                    "asks for diffs of a page that does not exist",
                )?;
                that(!intervals.is_empty(), "asks for no diff")
            }
            Self::DiffsOfPage { page, .. } => that(
                bounds.has_page(*page),
                "sends diffs of pages that do not exist",
            ),
            Self::HandOn { page, wanted, .. } => {
                that(
                    bounds.has_page(*page),
                    "asks for diffs of a page that does not exist",
                )?;
                that(bounds.has_all(wanted), "names writers that do not exist")?;
                let asked = wanted.last().map(|(writer, _)| *writer);
                that(
                    asked == Some(to),
                    "asks a node for what another one wrote last",
                )
            }
            Self::HandedOn { page, diffs, .. } => {
                that(
                    bounds.has_page(*page),
                    "sends diffs of pages that do not exist",
                )?;
                let known = diffs
                    .iter()
                    .all(|((writer, _), _)| bounds.has_node(*writer));
                that(known, "names writers that do not exist")
            }
            Self::Change {
                page, need, known, ..
            } => {
                that(bounds.has_page(*page), "changes a page that does not exist")?;
                let exist = bounds.has_all(need) && bounds.has_all(known);
                that(exist, "names writers that do not exist")
            }
            Self::Changed { shows, .. } => {
                that(bounds.has_all(shows), "names writers that do not exist")
            }
            Self::Changes {
                changes,
                need,
                known,
                ..
            } => {
                let exist = changes.iter().all(|(page, _)| bounds.has_page(*page));
                that(
                    exist && !changes.is_empty(),
                    "changes pages that do not exist",
                )?;
                let exist = bounds.has_all(need) && bounds.has_all(known);
                that(exist, "names writers that do not exist")
            }
            Self::ChangesDone { changes, .. } => that(*changes > 0, "has made no change"),
            Self::Lease { term, pages, .. } => {
                that(
                    bounds.has_pages_to(pages.end()),
                    "leases pages that do not exist",
                )?;
                let alone = match term {
                    Term::DropCopies(alone) | Term::CopiesDropped(alone) => *alone,
                    _ => from,
                };
                that(
                    bounds.has_node(alone),
                    "leases pages to a node that does not exist",
                )
            }
        }
    }
}

impl Control {
    fn check(&self, from: NodeId, to: NodeId, bounds: Bounds) -> Result<(), &'static str> {
        match self {
            Self::Exchange {
                request, notice, ..
            } => {
                that(to == ROOT, "asks a node that is not the sequencer")?;
                let own = notice.as_ref().is_none_or(|notice| notice.writer == from);
                that(own, "tells what another node wrote")?;
                if let Request::Learn(versions) = request {
                    that(bounds.has_all(versions), "names writers that do not exist")?;
                }
                that(notice.iter().all(|n| bounds.has_notice(n)), WRONG_NOTICE)
            }
            Self::Granted { notices, .. } => {
                that(from == ROOT, NOT_SEQUENCER)?;
                that(notices.iter().all(|n| bounds.has_notice(n)), WRONG_NOTICE)
            }
            Self::Refused { .. } | Self::Demand { .. } | Self::Recall { .. } => {
                that(from == ROOT, NOT_SEQUENCER)
            }
            Self::Alert { .. } => Ok(()),
            Self::Arrive { notices, .. } | Self::Depart { notices, .. } => {
                that(notices.iter().all(|n| bounds.has_notice(n)), WRONG_NOTICE)
            }
        }
    }
}

const WRONG_NOTICE: &str = "tells of pages or writers that do not exist";
const NOT_SEQUENCER: &str = "answers in the sequencer's place";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, PageSet};

    const BOUNDS: Bounds = Bounds { nodes: 2, pages: 8 };

    fn notice(writer: u16, first: u32, pages: u32) -> WriteNotice {
        let pages: Vec<_> = (first..first + pages).map(PageId).collect();
        WriteNotice {
            writer: NodeId(writer),
            interval: Interval(1),
            pages: PageSet::from_sorted(&pages),
            recalls: false,
            first: false,
            late: false,
            knew: Vec::new(),
        }
    }

    fn exchange(notice: WriteNotice) -> Message<()> {
        let (epoch, request, notice) = (0, Request::Publish, Some(notice));
        Control::Exchange {
            epoch,
            request,
            notice,
        }
        .into()
    }

    #[test]
    fn what_lies_within_the_cluster_passes_and_nothing_else() {
        let check = |message: &Message<()>, from: u16, to: u16| {
            message.check(NodeId(from), NodeId(to), BOUNDS).is_ok()
        };
        assert!(check(&exchange(notice(1, 0, 8)), 1, 0));
        assert!(!check(&exchange(notice(1, 0, 9)), 1, 0));
        assert!(!check(&exchange(notice(0, 0, 8)), 1, 0));
        assert!(!check(&exchange(notice(1, 0, 8)), 1, 1));
        assert!(!check(&exchange(notice(2, 0, 8)), 2, 0));
        let (epoch, need) = (0, vec![(NodeId(1), Interval(3))]);
        let fetch = |first, number, need| Message::<()>::Fetch {
            epoch,
            pages: PageRange::new(PageId(first), number).unwrap(),
            need,
        };
        assert!(check(&fetch(6, 2, need.clone()), 1, 0));
        assert!(!check(&fetch(7, 2, need), 1, 0));
        assert!(!check(&fetch(6, 2, vec![(NodeId(2), Interval(3))]), 1, 0));
        let demand = Message::<()>::from(Control::demand(0));
        assert!(check(&demand, 0, 1) && !check(&demand, 1, 0));
    }
}
