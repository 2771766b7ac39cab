//! What was noted of a page since the last synchronisation: as a whole, or line by line.
//!
//! Line by line, a page is permitted for a single instruction, again and again, until all of
//! its lines have been noted.

use fathomp_access_trace::{Accesses, Permit};
use fathomp_protocols::{Access, Diff, PageBytes};
use fathomp_types::{PAGE_BYTES, PageId};
use std::ops::Range;

/// Lines of a page: one for each bit of a word.
pub(crate) const LINES: usize = PAGE_BYTES / Accesses::LINE_BYTES as usize;
const _: () = assert!(LINES == u64::BITS as usize);

/// A page that was touched since the last synchronisation.
#[derive(Debug)]
pub(crate) struct Touched {
    /// What has been noted, and so may be permitted.
    pub(crate) noted: Permit,
    /// As it was before it was written.
    pub(crate) before: Option<Box<PageBytes>>,
    /// Lines that were read, and that were written; one that was written may be read.
    read: u64,
    wrote: u64,
    /// What has to stay permitted whichever lines are noted: the kernel uses the page.
    lent: Permit,
}

impl Default for Touched {
    fn default() -> Self {
        Self {
            noted: Permit::Nothing,
            before: None,
            read: 0,
            wrote: 0,
            lent: Permit::Nothing,
        }
    }
}

/// The line of a page, of all lines.
pub(crate) fn line_of(page: PageId, line: usize) -> PageId {
    // That all lines can be numbered is found out at the start.
    let lines = LINES as u32;
    PageId(page.0.saturating_mul(lines).saturating_add(line as u32))
}

impl Touched {
    /// Notes an access to these bytes of the page; the lines for which that is new.
    pub(crate) fn note(
        &mut self,
        access: Access,
        bytes: &Range<usize>,
    ) -> impl Iterator<Item = usize> + use<> {
        let lines = lines(bytes);
        let new = match access {
            Access::Read => lines & !(self.read | self.wrote),
            Access::Write => lines & !self.wrote,
        };
        match access {
            Access::Read => self.read |= new,
            Access::Write => self.wrote |= new,
        }
        (0..LINES).filter(move |line| new >> line & 1 != 0)
    }

    /// The kernel is going to use the page so until the next synchronisation.
    pub(crate) fn lend(&mut self, access: Access) {
        self.lent = self.lent.max(Permit::of_access(access));
    }

    /// What may be permitted for good, since no line is left to be noted.
    pub(crate) fn for_good(&self) -> Permit {
        let noted = if self.wrote == u64::MAX {
            Permit::Write
        } else if self.read | self.wrote == u64::MAX {
            Permit::Read
        } else {
            Permit::Nothing
        };
        noted.max(self.lent)
    }

    /// Bytes of the diff of each line, if the page is like that `now`.
    pub(crate) fn line_diffs(&self, now: &PageBytes) -> [u32; LINES] {
        let mut bytes = [Accesses::EMPTY_DIFF_BYTES; LINES];
        if let Some(before) = &self.before {
            Diff::between(before, now).visit(|range, _| {
                for byte in range {
                    let line = &mut bytes[byte / Accesses::LINE_BYTES as usize];
                    // What changed in a line comes behind a mask of its own.
                    let is_first = *line == Accesses::EMPTY_DIFF_BYTES;
                    *line += 1 + u32::from(is_first) * Accesses::EMPTY_DIFF_BYTES;
                }
            });
        }
        bytes
    }
}

/// Lines that have some of these bytes of a page.
fn lines(bytes: &Range<usize>) -> u64 {
    let line = Accesses::LINE_BYTES as usize;
    let first = (bytes.start / line).min(LINES - 1);
    let last = (bytes.end.saturating_sub(1) / line).clamp(first, LINES - 1);
    u64::MAX >> (LINES - 1 - (last - first)) << first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_has_the_lines_of_its_bytes() {
        assert_eq!(lines(&(0..1)), 1);
        assert_eq!(lines(&(60..68)), 0b11);
        assert_eq!(lines(&(64..128)), 0b10);
        assert_eq!(lines(&(4088..4104)), 1 << 63);
        assert_eq!(lines(&(0..4096)), u64::MAX);
    }

    #[test]
    fn a_page_is_permitted_when_all_of_it_was_noted() {
        let mut touched = Touched::default();
        let new: Vec<_> = touched.note(Access::Read, &(0..4032)).collect();
        assert_eq!(new.len(), 63);
        assert_eq!(touched.for_good(), Permit::Nothing);
        assert_eq!(touched.note(Access::Read, &(8..16)).count(), 0);
        // What is written may be read; what was read is written anew.
        let new: Vec<_> = touched.note(Access::Write, &(4030..4040)).collect();
        assert_eq!(new, [62, 63]);
        assert_eq!(touched.for_good(), Permit::Read);
        assert_eq!(touched.note(Access::Write, &(0..4096)).count(), 62);
        assert_eq!(touched.for_good(), Permit::Write);
        let mut lent = Touched::default();
        lent.lend(Access::Read);
        assert_eq!(lent.for_good(), Permit::Read);
    }

    #[test]
    fn diffs_of_lines_are_that_of_the_page_together() {
        let mut touched = Touched::default();
        let before = Box::new([0; PAGE_BYTES]);
        let mut now = before.clone();
        touched.before = Some(before.clone());
        for (at, byte) in [(3, 1), (64, 1), (65, 1), (4095, 9)] {
            now[at] = byte;
        }
        let lines = touched.line_diffs(&now);
        assert_eq!((lines[0], lines[1], lines[2], lines[63]), (17, 18, 8, 17));
        let page = Diff::between(&before, &now).as_bytes().len() as u32;
        let empty = Accesses::EMPTY_DIFF_BYTES;
        assert_eq!(
            lines.iter().map(|line| line - empty).sum::<u32>(),
            page - empty
        );
    }
}
