//! Messages as bytes.

use super::control_wire::{control, kind};
use super::{Message, PageCopy, Term};
use crate::wire::{Reader, WireError, Write};
use crate::{Change, Content, Interval, PageRange};
use fathomp_types::{NodeId, PageId, ThreadId};
use std::ops::Range;

const FETCH: u8 = kind::OWN;
const PAGES: u8 = kind::OWN + 1;
const DIFFS: u8 = kind::OWN + 2;
const LEASE: u8 = kind::OWN + 3;
const DIFFS_WANTED: u8 = kind::OWN + 4;
const DIFFS_OF_PAGE: u8 = kind::OWN + 5;
const CHANGE: u8 = kind::OWN + 6;
const CHANGED: u8 = kind::OWN + 7;
const CHANGES: u8 = kind::OWN + 8;
const CHANGES_DONE: u8 = kind::OWN + 9;
const HAND_ON: u8 = kind::OWN + 10;
const HANDED_ON: u8 = kind::OWN + 11;

/// What a page comes as: nothing of it, as it is zero; or its bytes.
const BLANK: u8 = 0;
const WHOLE: u8 = 1;

impl Message<Content> {
    /// Appends a message as it travels; `content` appends the bytes of content: 4,096 for a page
    /// (or, if it is [fresh](Content::Fresh), perhaps none),
    /// [`Diff::as_bytes`](crate::Diff::as_bytes) for a diff.
    pub fn encode(&self, bytes: &mut Vec<u8>, mut content: impl FnMut(Content, &mut Vec<u8>)) {
        match self {
            Self::Control(control) => control.encode(bytes),
            Self::Fetch { epoch, pages, need } => {
                begin(bytes, FETCH, *epoch);
                bytes.number(pages.first().0);
                bytes.number(pages.len());
                bytes.versions(need);
            }
            Self::Pages {
                epoch,
                first,
                copies,
            } => {
                begin(bytes, PAGES, *epoch);
                bytes.number(first.0);
                bytes.number(copies.len() as u64);
                for copy in copies {
                    bytes.versions(&copy.versions);
                    bytes.versions(&copy.after);
                    let at = bytes.len();
                    bytes.push(BLANK);
                    content(copy.content, bytes);
                    if bytes.len() > at + 1 {
                        bytes[at] = WHOLE;
                    }
                }
            }
            Self::Diffs {
                epoch,
                interval,
                diffs,
                more,
            } => {
                begin(bytes, DIFFS, *epoch);
                bytes.number(interval.0);
                bytes.number(u8::from(*more));
                bytes.number(diffs.len() as u64);
                for (page, diff) in diffs {
                    bytes.number(page.0);
                    bytes.sized(|bytes| content(*diff, bytes));
                }
            }
            Self::DiffsWanted {
                epoch,
                page,
                intervals,
            } => {
                begin(bytes, DIFFS_WANTED, *epoch);
                bytes.number(page.0);
                bytes.number(intervals.len() as u64);
                for interval in intervals {
                    bytes.number(interval.0);
                }
            }
            Self::DiffsOfPage { epoch, page, diffs } => {
                begin(bytes, DIFFS_OF_PAGE, *epoch);
                bytes.number(page.0);
                bytes.number(diffs.len() as u64);
                for (interval, diff) in diffs {
                    bytes.number(interval.0);
                    bytes.sized(|bytes| content(*diff, bytes));
                }
            }
            Self::HandOn {
                epoch,
                page,
                wanted,
                whole,
            } => {
                begin(bytes, HAND_ON, *epoch);
                bytes.number(page.0);
                bytes.number(u8::from(*whole));
                bytes.versions(wanted);
            }
            Self::HandedOn { epoch, page, diffs } => {
                begin(bytes, HANDED_ON, *epoch);
                bytes.number(page.0);
                bytes.number(diffs.len() as u64);
                for ((writer, interval), diff) in diffs {
                    bytes.number(writer.0);
                    bytes.number(interval.0);
                    bytes.sized(|bytes| content(*diff, bytes));
                }
            }
            Self::Change {
                epoch,
                page,
                thread,
                change,
                need,
                known,
            } => {
                begin(bytes, CHANGE, *epoch);
                bytes.number(page.0);
                bytes.number(thread.0);
                change.encode(bytes);
                bytes.versions(need);
                bytes.versions(known);
            }
            Self::Changes {
                epoch,
                changes,
                need,
                known,
            } => {
                begin(bytes, CHANGES, *epoch);
                bytes.number(changes.len() as u64);
                for (page, change) in changes {
                    bytes.number(page.0);
                    change.encode(bytes);
                }
                bytes.versions(need);
                bytes.versions(known);
            }
            Self::ChangesDone { epoch, changes } => {
                begin(bytes, CHANGES_DONE, *epoch);
                bytes.number(*changes);
            }
            Self::Changed {
                epoch,
                thread,
                before,
                shows,
            } => {
                begin(bytes, CHANGED, *epoch);
                bytes.number(thread.0);
                bytes.number(*before);
                bytes.versions(shows);
            }
            Self::Lease { epoch, term, pages } => {
                begin(bytes, LEASE, *epoch);
                let (term, node) = match *term {
                    Term::Ask => (0, None),
                    Term::Grant => (1, None),
                    Term::Recall => (2, None),
                    Term::Return => (3, None),
                    Term::LeasedOut => (6, None),
                    Term::DropCopies(node) => (4, Some(node)),
                    Term::CopiesDropped(node) => (5, Some(node)),
                };
                bytes.push(term);
                if let Some(node) = node {
                    bytes.number(node.0);
                }
                bytes.pages(pages);
            }
        }
    }
}

fn begin(bytes: &mut Vec<u8>, kind: u8, epoch: u32) {
    bytes.push(kind);
    bytes.number(epoch);
}

impl<B> Message<B> {
    /// Reads what [`encode`](Message::encode) wrote; `content` is told where in `bytes`
    /// content lies, which is a whole page, none of it or a valid diff.
    ///
    /// # Errors
    /// If the bytes are not exactly one message.
    pub fn decode(
        bytes: &[u8],
        mut content: impl FnMut(Range<usize>) -> B,
    ) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.byte()?;
        let epoch = reader.number()?;
        let message = match kind {
            FETCH => {
                let (first, pages) = (PageId(reader.number()?), reader.number()?);
                Message::Fetch {
                    epoch,
                    pages: PageRange::new(first, pages).ok_or(WireError::Pages { at: 0 })?,
                    need: reader.versions()?,
                }
            }
            PAGES => Message::Pages {
                epoch,
                first: PageId(reader.number()?),
                copies: reader.list(|reader| {
                    Ok(PageCopy {
                        versions: reader.versions()?,
                        after: reader.versions()?,
                        content: content(match reader.one_of([BLANK, WHOLE])? {
                            BLANK => 0..0,
                            _ => reader.page()?,
                        }),
                    })
                })?,
            },
            DIFFS => Message::Diffs {
                epoch,
                interval: Interval(reader.number()?),
                more: reader.flag()?,
                diffs: reader
                    .list(|reader| Ok((PageId(reader.number()?), content(reader.diff()?))))?,
            },
            DIFFS_WANTED => Message::DiffsWanted {
                epoch,
                page: PageId(reader.number()?),
                intervals: reader.list(|reader| reader.number().map(Interval))?,
            },
            DIFFS_OF_PAGE => Message::DiffsOfPage {
                epoch,
                page: PageId(reader.number()?),
                diffs: reader.list(|reader| {
                    let interval = Interval(reader.number()?);
                    Ok((interval, content(reader.diff()?)))
                })?,
            },
            HAND_ON => Message::HandOn {
                epoch,
                page: PageId(reader.number()?),
                whole: reader.flag()?,
                wanted: reader.versions()?,
            },
            HANDED_ON => Message::HandedOn {
                epoch,
                page: PageId(reader.number()?),
                diffs: reader.list(|reader| {
                    let version = reader.version()?;
                    Ok((version, content(reader.diff()?)))
                })?,
            },
            CHANGE => Message::Change {
                epoch,
                page: PageId(reader.number()?),
                thread: ThreadId(reader.number()?),
                change: Change::decode(&mut reader)?,
                need: reader.versions()?,
                known: reader.versions()?,
            },
            CHANGES => Message::Changes {
                epoch,
                changes: reader
                    .list(|reader| Ok((PageId(reader.number()?), Change::decode(reader)?)))?,
                need: reader.versions()?,
                known: reader.versions()?,
            },
            CHANGES_DONE => Message::ChangesDone {
                epoch,
                changes: reader.number()?,
            },
            CHANGED => Message::Changed {
                epoch,
                thread: ThreadId(reader.number()?),
                before: reader.number()?,
                shows: reader.versions()?,
            },
            LEASE => Message::Lease {
                epoch,
                term: match reader.one_of([0, 1, 2, 3, 4, 5, 6])? {
                    0 => Term::Ask,
                    1 => Term::Grant,
                    2 => Term::Recall,
                    3 => Term::Return,
                    6 => Term::LeasedOut,
                    4 => Term::DropCopies(NodeId(reader.number()?)),
                    _ => Term::CopiesDropped(NodeId(reader.number()?)),
                },
                pages: reader.pages()?,
            },
            _ => Message::Control(control(kind, epoch, &mut reader)?),
        };
        reader.finish()?;
        Ok(message)
    }
}
