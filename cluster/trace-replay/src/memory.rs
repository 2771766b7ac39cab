//! A node's pages without their content: what threads may do to them, and how much
//! they changed.

use fathomp_access_trace::{Accesses, Permit, Permits};
use fathomp_protocols::{Access, Content, PageRange, PageSet, Protection, Version};
use fathomp_types::{NodeId, PageId};
use std::collections::{HashMap, HashSet};

/// Content as it arrives: only its size.
pub(crate) type Size = u32;

/// What a protocol asked for does not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonsense(pub(crate) &'static str);

/// A copy to compare with.
#[derive(Clone, Copy, Debug)]
struct Twin {
    /// Bytes of the diff so far.
    diff_bytes: u32,
    /// Written since the writes without a fault were last told.
    wrote: bool,
}

/// All pages of a node.
#[derive(Debug)]
pub(crate) struct Memory {
    page_bytes: u32,
    diff_bytes_max: u32,
    permits: Permits,
    /// Pages that a thread here has accessed, or whose content has come from elsewhere.
    touched: HashSet<PageId>,
    twins: HashMap<PageId, Twin>,
    /// Pages with a twin that may be written without a fault; some may have been
    /// taken away since.
    unwatched: Vec<PageRange>,
    /// Made and not sent yet.
    diffs: HashMap<PageId, u32>,
    /// Made, or brought here, and sent whenever they are asked for.
    kept: HashMap<(PageId, Version), u32>,
}

impl Memory {
    /// Of pages as large as those.
    pub(crate) fn of_pages_as(accesses: &Accesses) -> Self {
        Self {
            page_bytes: accesses.page_bytes,
            diff_bytes_max: accesses.diff_bytes_max(),
            permits: Permits::default(),
            touched: HashSet::new(),
            twins: HashMap::new(),
            unwatched: Vec::new(),
            diffs: HashMap::new(),
            kept: HashMap::new(),
        }
    }

    /// Says what threads may do before anything has happened; ascending. No page has a twin
    /// then, so writes to those that are watched are faults.
    pub(crate) fn start(&mut self, pages: PageRange, to: Protection) {
        let permit = match to {
            Protection::None => Permit::Nothing,
            Protection::Read | Protection::Watched => Permit::Read,
            Protection::ReadWrite => Permit::Write,
        };
        self.permits.start(pages, permit);
    }

    /// True if a thread may do that without a fault.
    pub(crate) fn permits(&self, page: PageId, access: Access) -> bool {
        self.permits.of(page).allows(access)
    }

    /// A thread accesses a page, or its content has come.
    pub(crate) fn touch(&mut self, page: PageId) {
        self.touched.insert(page);
    }

    /// A thread writes a page that it may write, in whose diff that will be so many
    /// bytes.
    pub(crate) fn write(&mut self, page: PageId, diff_bytes: u32) {
        let most = self.diff_bytes_max;
        if let Some(twin) = self.twins.get_mut(&page) {
            let more = diff_bytes.saturating_sub(Accesses::EMPTY_DIFF_BYTES);
            twin.diff_bytes = twin.diff_bytes.saturating_add(more).min(most);
            twin.wrote |= more > 0;
        }
    }

    pub(crate) fn protect(&mut self, pages: PageRange, to: Protection) {
        let permit = match to {
            Protection::None => Permit::Nothing,
            Protection::Read => Permit::Read,
            Protection::ReadWrite => Permit::Write,
            Protection::Watched => {
                // Writes to pages with a twin are found out by comparing.
                for page in pages.iter() {
                    if self.twins.contains_key(&page) {
                        self.unwatched.push(page.into());
                        self.permits.set(page.into(), Permit::Write);
                    } else {
                        self.permits.set(page.into(), Permit::Read);
                    }
                }
                return;
            }
        };
        self.permits.set(pages, permit);
    }

    /// Which of them were. From now on they must not be.
    pub(crate) fn take_written(&mut self) -> PageSet {
        let mut written = Vec::new();
        for range in std::mem::take(&mut self.unwatched) {
            self.permits.set(range, Permit::Read);
            for page in range.iter() {
                let twin = self.twins.get_mut(&page);
                if twin.is_some_and(|twin| std::mem::take(&mut twin.wrote)) {
                    written.push(page);
                }
            }
        }
        written.into_iter().collect()
    }

    pub(crate) fn twin(&mut self, page: PageId) {
        let twin = Twin {
            diff_bytes: Accesses::EMPTY_DIFF_BYTES,
            wrote: false,
        };
        self.twins.insert(page, twin);
    }

    pub(crate) fn drop_twin(&mut self, page: PageId) {
        self.twins.remove(&page);
    }

    fn compare(&mut self, page: PageId) -> Result<u32, Nonsense> {
        let twin = self.twins.remove(&page);
        twin.map(|twin| twin.diff_bytes)
            .ok_or(Nonsense("a diff without a twin"))
    }

    /// Makes the diff of a page, to be sent once or as that of an interval; how many bytes it
    /// has.
    pub(crate) fn diff(&mut self, page: PageId, of: Option<Version>) -> Result<u32, Nonsense> {
        let bytes = self.compare(page)?;
        match of {
            Some(version) => self.kept.insert((page, version), bytes),
            None => self.diffs.insert(page, bytes),
        };
        Ok(bytes)
    }

    pub(crate) fn forget(&mut self) {
        self.kept.clear();
        self.twins.clear();
    }

    /// Keeps a diff of another node.
    pub(crate) fn keep(&mut self, page: PageId, of: Version, bytes: u32) {
        self.kept.insert((page, of), bytes);
    }

    /// Forgets the diffs of others than `me`.
    pub(crate) fn forget_others(&mut self, me: NodeId) {
        self.kept.retain(|(_, (writer, _)), _| *writer == me);
    }

    /// Bytes of content that a message carries; none if it is not there.
    pub(crate) fn content_bytes(&self, content: Content) -> Option<u32> {
        match content {
            Content::Fresh(page) if !self.touched.contains(&page) => Some(0),
            Content::Page(_) | Content::Fresh(_) => Some(self.page_bytes),
            Content::Twin(page) => self.twins.get(&page).map(|_| self.page_bytes),
            Content::Diff(page) => self.diffs.get(&page).copied(),
            Content::Kept(page, version) => self.kept.get(&(page, version)).copied(),
        }
    }

    /// A diff has been sent.
    pub(crate) fn sent(&mut self, content: Content) {
        if let Content::Diff(page) = content {
            self.diffs.remove(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u32, pages: u32) -> PageRange {
        PageRange::new(PageId(first), pages).unwrap()
    }

    #[test]
    fn an_untouched_page_has_no_content() {
        let mut memory = Memory::of_pages_as(&Accesses::default());
        let bytes =
            |memory: &Memory, of: fn(PageId) -> Content| memory.content_bytes(of(PageId(3)));
        assert_eq!(bytes(&memory, Content::Fresh), Some(0));
        assert_eq!(bytes(&memory, Content::Page), Some(4096));
        memory.touch(PageId(3));
        assert_eq!(bytes(&memory, Content::Fresh), Some(4096));
    }

    #[test]
    fn a_twinned_page_is_written_unnoticed_once() {
        let mut memory = Memory::of_pages_as(&Accesses::default());
        memory.twin(PageId(3));
        memory.protect(range(2, 2), Protection::Watched);
        assert!(!memory.permits(PageId(2), Access::Write));
        assert!(memory.permits(PageId(3), Access::Write));
        memory.write(PageId(3), 24);
        let written: Vec<_> = memory.take_written().iter().collect();
        assert_eq!(written, [PageId(3)]);
        assert!(!memory.permits(PageId(3), Access::Write));
        memory.diff(PageId(3), None).unwrap();
        assert_eq!(memory.content_bytes(Content::Diff(PageId(3))), Some(24));
        assert!(memory.diff(PageId(3), None).is_err());
    }
}
