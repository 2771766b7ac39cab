//! What nodes of the homeless protocol tell each other.

use crate::order::{Control, IfLate, Version, control, kind};
use crate::wire::{Reader, WireError, Write};
use crate::{Content, Interval, PageRange};
use fathomp_base::PageId;
use std::ops::Range;

/// A message; `C` is what stands for the content of pages and diffs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message<C> {
    /// To synchronise. A barrier's notices are single intervals, in the log's
    /// order.
    Control(Control),
    /// To a writer: what did you change in these intervals of yours?
    DiffsWanted {
        /// The asker's epoch.
        epoch: u32,
        /// The page.
        page: PageId,
        /// The receiver's intervals.
        intervals: Vec<Interval>,
    },
    /// The answer to [`Self::DiffsWanted`].
    Diffs {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The page.
        page: PageId,
        /// Intervals and their diffs.
        diffs: Vec<(Interval, C)>,
    },
    /// To the owner of pages: send all of them.
    PagesWanted {
        /// The asker's epoch.
        epoch: u32,
        /// The pages.
        pages: PageRange,
    },
    /// The answer to [`Self::PagesWanted`].
    Pages {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The first of the pages, which follow each other.
        first: PageId,
        /// Intervals that the asker has to know of before its threads may look.
        known: Vec<Version>,
        /// Intervals since the last tidying that are part of each page's content, and
        /// its bytes.
        copies: Vec<(Vec<Version>, C)>,
    },
}

impl<C> Message<C> {
    /// The epoch to which it belongs.
    pub(super) fn epoch(&self) -> u32 {
        match self {
            Self::Control(control) => control.epoch(),
            Self::DiffsWanted { epoch, .. }
            | Self::Diffs { epoch, .. }
            | Self::PagesWanted { epoch, .. }
            | Self::Pages { epoch, .. } => *epoch,
        }
    }

    /// Threads or a barrier wait for all but some control messages. Threads that
    /// take no part in barriers may be waiting for content when one ends: they ask
    /// again.
    pub(super) fn if_late(&self) -> IfLate {
        match self {
            Self::Control(control) => control.if_late(),
            _ => IfLate::Drop,
        }
    }
}

impl<C> From<Control> for Message<C> {
    fn from(control: Control) -> Self {
        Self::Control(control)
    }
}

const DIFFS_WANTED: u8 = kind::OWN;
const DIFFS: u8 = kind::OWN + 1;
const PAGES_WANTED: u8 = kind::OWN + 2;
const PAGES: u8 = kind::OWN + 3;

fn begin(bytes: &mut Vec<u8>, kind: u8, epoch: u32, page: PageId) {
    bytes.push(kind);
    bytes.number(epoch);
    bytes.number(page.0);
}

impl Message<Content> {
    /// Puts the content in.
    pub(super) fn fill<B>(self, mut content: impl FnMut(Content) -> B) -> Message<B> {
        match self {
            Self::Control(control) => Message::Control(control),
            Self::DiffsWanted {
                epoch,
                page,
                intervals,
            } => Message::DiffsWanted {
                epoch,
                page,
                intervals,
            },
            Self::Diffs { epoch, page, diffs } => Message::Diffs {
                epoch,
                page,
                diffs: diffs
                    .into_iter()
                    .map(|(interval, what)| (interval, content(what)))
                    .collect(),
            },
            Self::PagesWanted { epoch, pages } => Message::PagesWanted { epoch, pages },
            Self::Pages {
                epoch,
                first,
                known,
                copies,
            } => Message::Pages {
                epoch,
                first,
                known,
                copies: copies
                    .into_iter()
                    .map(|(applied, what)| (applied, content(what)))
                    .collect(),
            },
        }
    }

    pub(super) fn encode(
        &self,
        bytes: &mut Vec<u8>,
        mut content: impl FnMut(Content, &mut Vec<u8>),
    ) {
        match self {
            Self::Control(control) => control.encode(bytes),
            Self::DiffsWanted {
                epoch,
                page,
                intervals,
            } => {
                begin(bytes, DIFFS_WANTED, *epoch, *page);
                bytes.number(intervals.len() as u64);
                for interval in intervals {
                    bytes.number(interval.0);
                }
            }
            Self::Diffs { epoch, page, diffs } => {
                begin(bytes, DIFFS, *epoch, *page);
                bytes.number(diffs.len() as u64);
                for (interval, diff) in diffs {
                    bytes.number(interval.0);
                    bytes.sized(|bytes| content(*diff, bytes));
                }
            }
            Self::PagesWanted { epoch, pages } => {
                begin(bytes, PAGES_WANTED, *epoch, pages.first());
                bytes.number(pages.len());
            }
            Self::Pages {
                epoch,
                first,
                known,
                copies,
            } => {
                begin(bytes, PAGES, *epoch, *first);
                bytes.versions(known);
                bytes.number(copies.len() as u64);
                for (applied, what) in copies {
                    bytes.versions(applied);
                    content(*what, bytes);
                }
            }
        }
    }
}

pub(super) fn decode<B>(
    bytes: &[u8],
    mut content: impl FnMut(Range<usize>) -> B,
) -> Result<Message<B>, WireError> {
    let mut reader = Reader::new(bytes);
    let kind = reader.byte()?;
    let epoch = reader.number()?;
    let message = match kind {
        DIFFS_WANTED => Message::DiffsWanted {
            epoch,
            page: PageId(reader.number()?),
            intervals: reader.list(|reader| reader.number().map(Interval))?,
        },
        DIFFS => Message::Diffs {
            epoch,
            page: PageId(reader.number()?),
            diffs: reader.list(|reader| {
                let interval = Interval(reader.number()?);
                Ok((interval, content(reader.diff()?)))
            })?,
        },
        PAGES_WANTED => {
            let (first, pages) = (PageId(reader.number()?), reader.number()?);
            Message::PagesWanted {
                epoch,
                pages: PageRange::new(first, pages).ok_or(WireError::Pages { at: 0 })?,
            }
        }
        PAGES => Message::Pages {
            epoch,
            first: PageId(reader.number()?),
            known: reader.versions()?,
            copies: reader.list(|reader| {
                let applied = reader.versions()?;
                Ok((applied, content(reader.page()?)))
            })?,
        },
        _ => Message::Control(control(kind, epoch, &mut reader)?),
    };
    reader.finish()?;
    Ok(message)
}
