//! The messages of the home-based protocol as bytes.

use super::message::{Control, Message, PageCopy, Request};
use crate::wire::{Reader, WireError, Write};
use crate::{Content, Interval, LockId, PageRange};
use fathomp_base::{PageId, ThreadId};
use std::ops::Range;

mod kind {
    pub(super) const PAGES: u8 = 0;
    pub(super) const DIFFS: u8 = 1;
    pub(super) const FETCH: u8 = 2;
    pub(super) const FLUSH: u8 = 3;
    pub(super) const ACQUIRE: u8 = 4;
    pub(super) const TRY_ACQUIRE: u8 = 5;
    pub(super) const RELEASE: u8 = 6;
    pub(super) const PUBLISH: u8 = 7;
    pub(super) const LEARN: u8 = 8;
    pub(super) const GRANTED: u8 = 9;
    pub(super) const REFUSED: u8 = 10;
    pub(super) const DEMAND: u8 = 11;
    pub(super) const ARRIVE: u8 = 12;
    pub(super) const DEPART: u8 = 13;
}

impl Message<Content> {
    pub(super) fn encode(
        &self,
        bytes: &mut Vec<u8>,
        mut content: impl FnMut(Content, &mut Vec<u8>),
    ) {
        match self {
            Self::Control(control) => control.encode(bytes),
            Self::Pages {
                epoch,
                first,
                copies,
            } => {
                begin(bytes, kind::PAGES, *epoch);
                bytes.number(first.0);
                bytes.number(copies.len() as u64);
                for copy in copies {
                    bytes.versions(&copy.versions);
                    content(copy.content, bytes);
                }
            }
            Self::Diffs {
                epoch,
                interval,
                diffs,
            } => {
                begin(bytes, kind::DIFFS, *epoch);
                bytes.number(interval.0);
                bytes.number(diffs.len() as u64);
                for (page, diff) in diffs {
                    bytes.number(page.0);
                    bytes.sized(|bytes| content(*diff, bytes));
                }
            }
        }
    }
}

fn begin(bytes: &mut Vec<u8>, kind: u8, epoch: u32) {
    bytes.push(kind);
    bytes.number(epoch);
}

impl Control {
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Fetch { epoch, pages, need } => {
                begin(bytes, kind::FETCH, *epoch);
                bytes.number(pages.first().0);
                bytes.number(pages.len());
                bytes.versions(need);
            }
            Self::Exchange {
                epoch,
                request,
                notice,
            } => {
                request.encode(*epoch, bytes);
                bytes.notices(notice.as_slice());
            }
            Self::Granted {
                epoch,
                thread,
                notices,
            } => {
                begin(bytes, kind::GRANTED, *epoch);
                bytes.thread(*thread);
                bytes.notices(notices);
            }
            Self::Refused { epoch, thread } => {
                begin(bytes, kind::REFUSED, *epoch);
                bytes.number(thread.0);
            }
            Self::Demand { epoch } => begin(bytes, kind::DEMAND, *epoch),
            Self::Arrive { epoch, notices } => {
                begin(bytes, kind::ARRIVE, *epoch);
                bytes.notices(notices);
            }
            Self::Depart { epoch, notices } => {
                begin(bytes, kind::DEPART, *epoch);
                bytes.notices(notices);
            }
        }
    }
}

impl Request {
    fn encode(&self, epoch: u32, bytes: &mut Vec<u8>) {
        let mut begin = |kind| begin(bytes, kind, epoch);
        match self {
            Self::Flush(thread) => {
                begin(kind::FLUSH);
                bytes.number(thread.0);
            }
            Self::Acquire(lock, thread) => {
                begin(kind::ACQUIRE);
                bytes.number(lock.0);
                bytes.number(thread.0);
            }
            Self::TryAcquire(lock, thread) => {
                begin(kind::TRY_ACQUIRE);
                bytes.number(lock.0);
                bytes.number(thread.0);
            }
            Self::Release(lock) => {
                begin(kind::RELEASE);
                bytes.number(lock.0);
            }
            Self::Publish => begin(kind::PUBLISH),
            Self::Learn(versions) => {
                begin(kind::LEARN);
                bytes.versions(versions);
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
        kind::PAGES => Message::Pages {
            epoch,
            first: PageId(reader.number()?),
            copies: reader.list(|reader| {
                Ok(PageCopy {
                    versions: reader.versions()?,
                    content: content(reader.page()?),
                })
            })?,
        },
        kind::DIFFS => Message::Diffs {
            epoch,
            interval: Interval(reader.number()?),
            diffs: reader.list(|reader| Ok((PageId(reader.number()?), content(reader.diff()?))))?,
        },
        _ => Message::Control(control(kind, epoch, &mut reader)?),
    };
    reader.finish()?;
    Ok(message)
}

fn control(kind: u8, epoch: u32, reader: &mut Reader<'_>) -> Result<Control, WireError> {
    Ok(match kind {
        kind::FETCH => {
            let (first, pages) = (PageId(reader.number()?), reader.number()?);
            Control::Fetch {
                epoch,
                pages: PageRange::new(first, pages).ok_or(WireError::Pages { at: 0 })?,
                need: reader.versions()?,
            }
        }
        kind::GRANTED => Control::Granted {
            epoch,
            thread: reader.thread()?,
            notices: reader.notices()?,
        },
        kind::REFUSED => Control::Refused {
            epoch,
            thread: ThreadId(reader.number()?),
        },
        kind::DEMAND => Control::Demand { epoch },
        kind::ARRIVE => Control::Arrive {
            epoch,
            notices: reader.notices()?,
        },
        kind::DEPART => Control::Depart {
            epoch,
            notices: reader.notices()?,
        },
        _ => Control::Exchange {
            epoch,
            request: request(kind, reader)?,
            notice: reader.notice()?,
        },
    })
}

fn request(kind: u8, reader: &mut Reader<'_>) -> Result<Request, WireError> {
    let lock = |reader: &mut Reader<'_>| reader.number().map(LockId);
    let thread = |reader: &mut Reader<'_>| reader.number().map(ThreadId);
    Ok(match kind {
        kind::FLUSH => Request::Flush(thread(reader)?),
        kind::ACQUIRE => Request::Acquire(lock(reader)?, thread(reader)?),
        kind::TRY_ACQUIRE => Request::TryAcquire(lock(reader)?, thread(reader)?),
        kind::RELEASE => Request::Release(lock(reader)?),
        kind::PUBLISH => Request::Publish,
        kind::LEARN => Request::Learn(reader.versions()?),
        unknown => return Err(WireError::Kind(unknown)),
    })
}
