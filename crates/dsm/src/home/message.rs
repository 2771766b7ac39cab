//! What nodes of the home-based protocol tell each other.

use super::lease::Term;
use crate::order::{Control, IfLate, Order, Version};
use crate::{Content, Interval, PageRange, PageSet};
use fathomp_base::{PageId, ThreadId};

/// A message; `C` is what stands for the content of pages and diffs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message<C> {
    /// To synchronise. A barrier's notices: for each writer and each home of pages
    /// that it wrote in the epoch, these pages and the last of its intervals in
    /// which it wrote some of them.
    Control(Control),
    /// To a home of pages: send them, once they contain what I know of.
    Fetch {
        /// The asker's epoch.
        epoch: u32,
        /// The pages.
        pages: PageRange,
        /// Intervals whose diffs must have arrived at the home.
        need: Vec<Version>,
    },
    /// The answer to [`Self::Fetch`].
    Pages {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The first of the pages, which follow each other.
        first: PageId,
        /// The pages.
        copies: Vec<PageCopy<C>>,
    },
    /// What the sender wrote in one interval into pages at home at the receiver, or
    /// a part of it.
    Diffs {
        /// The sender's epoch.
        epoch: u32,
        /// The sender's interval.
        interval: Interval,
        /// Pages and their diffs.
        diffs: Vec<(PageId, C)>,
        /// The next message has more of it.
        more: bool,
    },
    /// To a home: let a page be [updated](crate::Updates), once it contains what I know of.
    Update {
        /// The asker's epoch.
        epoch: u32,
        /// The page.
        page: PageId,
        /// The thread that asks.
        thread: ThreadId,
        /// Intervals whose diffs must have arrived at the home.
        need: Vec<Version>,
    },
    /// The answer to [`Self::Update`].
    Updatable {
        /// The home's epoch.
        epoch: u32,
        /// The thread that asked.
        thread: ThreadId,
        /// Whether it can be, if nothing comes in between.
        can: bool,
        /// If not, intervals that may be part of the page.
        shows: Vec<Version>,
    },
    /// About pages that one node writes again and again.
    Lease {
        /// The sender's epoch.
        epoch: u32,
        /// What about them.
        term: Term,
        /// The pages.
        pages: PageSet,
    },
}

/// A page as it is at its home.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageCopy<C> {
    /// Intervals of this epoch that are part of the content.
    pub versions: Vec<Version>,
    /// Intervals that its home knew of when it may have written the content
    /// without anybody noticing, if loads acquire.
    pub after: Vec<Version>,
    /// The page's bytes.
    pub content: C,
}

impl<C> PageCopy<C> {
    /// Whether whoever sees it knows of all that comes before what it shows.
    pub(super) fn is_known(&self, order: &Order) -> bool {
        order.knows(&self.versions) && order.knows(&self.after)
    }
}

impl<C> Message<C> {
    /// The epoch to which it belongs.
    pub(super) fn epoch(&self) -> u32 {
        match self {
            Self::Control(control) => control.epoch(),
            Self::Fetch { epoch, .. }
            | Self::Pages { epoch, .. }
            | Self::Diffs { epoch, .. }
            | Self::Update { epoch, .. }
            | Self::Updatable { epoch, .. }
            | Self::Lease { epoch, .. } => *epoch,
        }
    }

    /// Fetches in advance can be overtaken by a barrier, and are made anew; and so can what
    /// threads want that take no part in barriers.
    pub(super) fn if_late(&self) -> IfLate {
        match self {
            Self::Control(control) => control.if_late(),
            Self::Fetch { .. } | Self::Pages { .. } => IfLate::Drop,
            Self::Diffs { .. } => IfLate::Refuse,
            Self::Update { .. } | Self::Updatable { .. } => IfLate::Take,
            // They have all ended.
            Self::Lease { .. } => IfLate::Drop,
        }
    }
}

impl<C> From<Control> for Message<C> {
    fn from(control: Control) -> Self {
        Self::Control(control)
    }
}

impl Message<Content> {
    /// Leaves pages where they are. Their home notices, or tells of, whatever it writes into
    /// them from now on in this epoch: so who installs them later gets at most what it learns
    /// of later.
    pub(super) fn leave(&mut self, mut may: impl FnMut(Content) -> bool) {
        let Self::Pages { copies, .. } = self else {
            return;
        };
        for PageCopy { content, .. } in copies {
            if let Content::Page(page) | Content::Fresh(page) = *content
                && may(*content)
            {
                *content = Content::Left(page);
            }
        }
    }

    /// Puts the content in.
    pub(super) fn fill<B>(self, mut content: impl FnMut(Content) -> B) -> Message<B> {
        match self {
            Self::Control(control) => Message::Control(control),
            Self::Fetch { epoch, pages, need } => Message::Fetch { epoch, pages, need },
            Self::Update {
                epoch,
                page,
                thread,
                need,
            } => Message::Update {
                epoch,
                page,
                thread,
                need,
            },
            Self::Updatable {
                epoch,
                thread,
                can,
                shows,
            } => Message::Updatable {
                epoch,
                thread,
                can,
                shows,
            },
            Self::Lease { epoch, term, pages } => Message::Lease { epoch, term, pages },
            Self::Pages {
                epoch,
                first,
                copies,
            } => Message::Pages {
                epoch,
                first,
                copies: copies
                    .into_iter()
                    .map(|copy| PageCopy {
                        versions: copy.versions,
                        after: copy.after,
                        content: content(copy.content),
                    })
                    .collect(),
            },
            Self::Diffs {
                epoch,
                interval,
                diffs,
                more,
            } => Message::Diffs {
                epoch,
                interval,
                diffs: diffs
                    .into_iter()
                    .map(|(page, what)| (page, content(what)))
                    .collect(),
                more,
            },
        }
    }
}
