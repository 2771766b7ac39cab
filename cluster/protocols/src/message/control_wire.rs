//! Control messages as bytes.

use super::control::{Control, Request};
use crate::wire::{Reader, WireError, Write};
use crate::{Interval, LockId};
use fathomp_types::ThreadId;

/// Kinds of messages, the first byte of each. A protocol's own begin at
/// [`kind::OWN`].
pub(crate) mod kind {
    pub(super) const FLUSH: u8 = 0;
    pub(super) const ACQUIRE: u8 = 1;
    pub(super) const TRY_ACQUIRE: u8 = 2;
    pub(super) const RELEASE: u8 = 3;
    pub(super) const PUBLISH: u8 = 4;
    pub(super) const LEARN: u8 = 5;
    pub(super) const GRANTED: u8 = 6;
    pub(super) const REFUSED: u8 = 7;
    pub(super) const DEMAND: u8 = 8;
    pub(super) const ARRIVE: u8 = 9;
    pub(super) const DEPART: u8 = 10;
    pub(super) const ALERT: u8 = 11;
    pub(super) const RECALL: u8 = 12;
    pub(crate) const OWN: u8 = 16;
}

fn begin(bytes: &mut Vec<u8>, kind: u8, epoch: u32) {
    bytes.push(kind);
    bytes.number(epoch);
}

impl Control {
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
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
            Self::Demand { epoch, interval } => {
                begin(bytes, kind::DEMAND, *epoch);
                bytes.number(interval.0);
            }
            Self::Recall { epoch, lock } => {
                begin(bytes, kind::RECALL, *epoch);
                bytes.number(lock.0);
            }
            Self::Alert { epoch } => begin(bytes, kind::ALERT, *epoch),
            Self::Arrive {
                epoch,
                notices,
                full,
            } => {
                begin(bytes, kind::ARRIVE, *epoch);
                bytes.notices(notices);
                bytes.number(u8::from(*full));
            }
            Self::Depart {
                epoch,
                notices,
                full,
                cut,
            } => {
                begin(bytes, kind::DEPART, *epoch);
                bytes.notices(notices);
                bytes.number(u8::from(*full));
                bytes.number(u8::from(*cut));
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

/// Reads the rest of a control message.
pub(crate) fn control(kind: u8, epoch: u32, reader: &mut Reader<'_>) -> Result<Control, WireError> {
    Ok(match kind {
        kind::GRANTED => Control::Granted {
            epoch,
            thread: reader.thread()?,
            notices: reader.notices()?,
        },
        kind::REFUSED => Control::Refused {
            epoch,
            thread: ThreadId(reader.number()?),
        },
        kind::DEMAND => Control::Demand {
            epoch,
            interval: Interval(reader.number()?),
        },
        kind::RECALL => Control::Recall {
            epoch,
            lock: LockId(reader.number()?),
        },
        kind::ALERT => Control::Alert { epoch },
        kind::ARRIVE => Control::Arrive {
            epoch,
            notices: reader.notices()?,
            full: reader.flag()?,
        },
        kind::DEPART => Control::Depart {
            epoch,
            notices: reader.notices()?,
            full: reader.flag()?,
            cut: reader.flag()?,
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
