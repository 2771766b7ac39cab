//! Messages as bytes: numbers in seven bits a byte, lowest first (LEB128), page
//! sets as gaps and lengths, content as it is. Every reader checks what it
//! reads: a peer may lie.

use crate::{Diff, DiffError, Interval, PageRange, PageSet, WriteNotice};
use fathomp_types::{NodeId, PAGE_BYTES, PageId, ThreadId};
use std::ops::Range;

/// Bytes that came from elsewhere and are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// They end too early.
    #[error("a message of {0} bytes is cut short")]
    CutShort(usize),
    /// Something follows.
    #[error("a message is followed by {0} surplus bytes")]
    TooLong(usize),
    /// A number is larger than it may be.
    #[error("the number at byte {at} of a message is out of range")]
    Number {
        /// Where it begins.
        at: usize,
    },
    /// No such kind of message.
    #[error("a message of unknown kind {0}")]
    Kind(u8),
    /// A page set is none.
    #[error("the page set at byte {at} of a message has touching ranges or too large ones")]
    Pages {
        /// Where the offending range begins.
        at: usize,
    },
    /// A diff is none.
    #[error("a message carries a damaged diff: {0}")]
    Diff(#[from] DiffError),
}

/// Appends what messages consist of.
pub(crate) trait Write {
    fn number(&mut self, number: impl Into<u64>);
    fn notices(&mut self, notices: &[WriteNotice]);
    fn pages(&mut self, pages: &PageSet);
    fn versions(&mut self, versions: &[(NodeId, Interval)]);
    fn thread(&mut self, thread: Option<ThreadId>);
    /// Content of unknown length: the length comes first, as 4 bytes.
    fn sized(&mut self, content: impl FnOnce(&mut Vec<u8>));
}

impl Write for Vec<u8> {
    fn number(&mut self, number: impl Into<u64>) {
        let mut rest = number.into();
        while rest >= 0x80 {
            self.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.push(rest as u8);
    }

    fn notices(&mut self, notices: &[WriteNotice]) {
        self.number(notices.len() as u64);
        for notice in notices {
            self.number(notice.writer.0);
            self.number(notice.interval.0);
            let knew = !notice.knew.is_empty();
            let flags = [notice.recalls, notice.late, notice.first, knew];
            let flags = flags.into_iter().rev();
            self.number(flags.fold(0, |flags, flag| flags << 1 | u64::from(flag)));
            self.pages(&notice.pages);
            if knew {
                self.versions(&notice.knew);
            }
        }
    }

    fn pages(&mut self, pages: &PageSet) {
        self.number(pages.ranges().len() as u64);
        let mut end = 0;
        for range in pages.ranges() {
            self.number(u64::from(range.first().0) - end);
            self.number(range.len());
            end = range.end();
        }
    }

    fn versions(&mut self, versions: &[(NodeId, Interval)]) {
        self.number(versions.len() as u64);
        for (writer, interval) in versions {
            self.number(writer.0);
            self.number(interval.0);
        }
    }

    fn thread(&mut self, thread: Option<ThreadId>) {
        self.number(thread.map_or(0, |thread| u64::from(thread.0) + 1));
    }

    fn sized(&mut self, content: impl FnOnce(&mut Vec<u8>)) {
        let at = self.len();
        self.extend_from_slice(&[0; 4]);
        content(self);
        let length = u32::try_from(self.len() - at - 4).unwrap_or(u32::MAX);
        self[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// Reads what [`Write`] wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// # Errors
    /// If there is something left.
    pub(crate) fn finish(self) -> Result<(), WireError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            surplus => Err(WireError::TooLong(surplus)),
        }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, WireError> {
        let range = self.range(1)?;
        Ok(self.bytes[range.start])
    }

    /// The next `length` bytes.
    pub(crate) fn range(&mut self, length: usize) -> Result<Range<usize>, WireError> {
        let cut = WireError::CutShort(self.bytes.len());
        let end = self.at.checked_add(length).ok_or(cut)?;
        if end > self.bytes.len() {
            return Err(cut);
        }
        let start = std::mem::replace(&mut self.at, end);
        Ok(start..end)
    }

    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Result<T, WireError> {
        let out_of_range = WireError::Number { at: self.at };
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(out_of_range);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return T::try_from(number).map_err(|_| out_of_range);
            }
        }
        Err(out_of_range)
    }

    /// A length and so many things, each of which takes at least a byte.
    pub(crate) fn list<T>(
        &mut self,
        mut next: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let length: usize = self.number()?;
        if length > self.bytes.len() - self.at {
            return Err(WireError::CutShort(self.bytes.len()));
        }
        (0..length).map(|_| next(self)).collect()
    }

    pub(crate) fn notices(&mut self) -> Result<Vec<WriteNotice>, WireError> {
        self.list(|reader| {
            let (writer, interval) = reader.version()?;
            let out_of_range = WireError::Number { at: reader.at };
            let flags = reader.byte()?;
            if flags > 15 {
                return Err(out_of_range);
            }
            let pages = reader.pages()?;
            Ok(WriteNotice {
                writer,
                interval,
                pages,
                recalls: flags & 1 != 0,
                late: flags & 2 != 0,
                first: flags & 4 != 0,
                knew: match flags & 8 {
                    0 => Vec::new(),
                    _ => reader.versions()?,
                },
            })
        })
    }

    /// At most one notice.
    pub(crate) fn notice(&mut self) -> Result<Option<WriteNotice>, WireError> {
        let at = self.at;
        let mut notices = self.notices()?;
        match (notices.pop(), notices.is_empty()) {
            (notice, true) => Ok(notice),
            (_, false) => Err(WireError::Number { at }),
        }
    }

    pub(crate) fn pages(&mut self) -> Result<PageSet, WireError> {
        let start = self.at;
        let mut end = 0_u64;
        let ranges = self.list(|reader| {
            let wrong = WireError::Pages { at: reader.at };
            let gap: u64 = reader.number()?;
            let first = u32::try_from(end.saturating_add(gap)).map_err(|_| wrong)?;
            let range = PageRange::new(PageId(first), reader.number()?).ok_or(wrong)?;
            end = range.end();
            Ok(range)
        })?;
        PageSet::from_ranges(ranges).map_err(|_| WireError::Pages { at: start })
    }

    /// 0 or 1.
    pub(crate) fn flag(&mut self) -> Result<bool, WireError> {
        Ok(self.one_of([0, 1])? == 1)
    }

    /// A byte that is one of some.
    pub(crate) fn one_of<const N: usize>(&mut self, kinds: [u8; N]) -> Result<u8, WireError> {
        let at = self.at;
        let byte = self.byte()?;
        let known = kinds.contains(&byte).then_some(byte);
        known.ok_or(WireError::Number { at })
    }

    pub(crate) fn version(&mut self) -> Result<(NodeId, Interval), WireError> {
        Ok((NodeId(self.number()?), Interval(self.number()?)))
    }

    pub(crate) fn versions(&mut self) -> Result<Vec<(NodeId, Interval)>, WireError> {
        self.list(Self::version)
    }

    pub(crate) fn thread(&mut self) -> Result<Option<ThreadId>, WireError> {
        let at = self.at;
        match self.number::<u64>()?.checked_sub(1) {
            None => Ok(None),
            Some(id) => match u32::try_from(id) {
                Ok(id) => Ok(Some(ThreadId(id))),
                Err(_) => Err(WireError::Number { at }),
            },
        }
    }

    /// A page's content.
    pub(crate) fn page(&mut self) -> Result<Range<usize>, WireError> {
        self.range(PAGE_BYTES)
    }

    /// A diff.
    pub(crate) fn diff(&mut self) -> Result<Range<usize>, WireError> {
        let length = self.range(4)?;
        let length = self.bytes[length]
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | usize::from(*byte));
        let range = self.range(length)?;
        Diff::check(&self.bytes[range.clone()])?;
        Ok(range)
    }
}
