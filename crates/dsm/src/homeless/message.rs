//! What nodes of the homeless protocol tell each other.

use crate::order::{Control, IfLate, Version, control, kind};
use crate::wire::{Reader, WireError, Write};
use crate::{Content, Interval};
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
    /// To a page's owner: send all of it.
    PageWanted {
        /// The asker's epoch.
        epoch: u32,
        /// The page.
        page: PageId,
    },
    /// The answer to [`Self::PageWanted`].
    Page {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The page.
        page: PageId,
        /// Intervals since the last tidying that are part of the content.
        applied: Vec<Version>,
        /// Intervals that the asker has to know of before its threads may look.
        known: Vec<Version>,
        /// The page's bytes.
        content: C,
    },
}

impl<C> Message<C> {
    /// The epoch to which it belongs.
    pub(super) fn epoch(&self) -> u32 {
        match self {
            Self::Control(control) => control.epoch(),
            Self::DiffsWanted { epoch, .. }
            | Self::Diffs { epoch, .. }
            | Self::PageWanted { epoch, .. }
            | Self::Page { epoch, .. } => *epoch,
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
const PAGE_WANTED: u8 = kind::OWN + 2;
const PAGE: u8 = kind::OWN + 3;

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
            Self::PageWanted { epoch, page } => Message::PageWanted { epoch, page },
            Self::Page {
                epoch,
                page,
                applied,
                known,
                content: what,
            } => Message::Page {
                epoch,
                page,
                applied,
                known,
                content: content(what),
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
            Self::PageWanted { epoch, page } => begin(bytes, PAGE_WANTED, *epoch, *page),
            Self::Page {
                epoch,
                page,
                applied,
                known,
                content: what,
            } => {
                begin(bytes, PAGE, *epoch, *page);
                bytes.versions(applied);
                bytes.versions(known);
                content(*what, bytes);
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
        PAGE_WANTED => Message::PageWanted {
            epoch,
            page: PageId(reader.number()?),
        },
        PAGE => Message::Page {
            epoch,
            page: PageId(reader.number()?),
            applied: reader.versions()?,
            known: reader.versions()?,
            content: content(reader.page()?),
        },
        _ => Message::Control(control(kind, epoch, &mut reader)?),
    };
    reader.finish()?;
    Ok(message)
}
