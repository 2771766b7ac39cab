//! A node's pages, as its threads and its protocol see them.

use fathomp_protocols::{
    Access, Change, Content, Diff, PageBytes, PageRange, PageSet, Protection, Version,
};
use fathomp_types::{NodeId, PAGE_BYTES, PageId};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

/// The bytes of a page, which may be fewer than a real one has.
pub trait Bytes: Clone + Debug + Eq + Hash {
    /// What was changed in a page.
    type Diff: Clone + Debug + Eq + Hash;

    /// A page that nobody has touched.
    fn zero() -> Self;

    /// Its bytes.
    fn bytes(&self) -> &[u8];

    /// Its bytes.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// What was changed in this page since it was as its twin.
    fn changes(&self, twin: &Self) -> Self::Diff;

    /// Changes a page so.
    fn change(&mut self, diff: &Self::Diff);
}

impl Bytes for Box<PageBytes> {
    type Diff = Diff;

    fn zero() -> Self {
        Box::new([0; PAGE_BYTES])
    }

    fn bytes(&self) -> &[u8] {
        &self[..]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self[..]
    }

    fn changes(&self, twin: &Self) -> Diff {
        Diff::between(twin, self)
    }

    fn change(&mut self, diff: &Diff) {
        diff.apply(self);
    }
}

/// Content that leaves a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Leaving<B: Bytes> {
    /// A page that nobody has touched.
    Blank,
    /// A page.
    Page(B),
    /// A diff.
    Diff(B::Diff),
}

/// Content for a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Arriving<B> {
    /// Zeros.
    Blank,
    /// These bytes.
    Page(B),
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Page<B: Bytes> {
    bytes: B,
    twin: Option<B>,
    protection: Protection,
    /// Made and not sent yet.
    diff: Option<B::Diff>,
    /// Told since it has been watched: a page with a twin is closed by that.
    told: bool,
}

/// All pages of a node. What makes no sense is an error in words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Memory<B: Bytes> {
    pages: Vec<Page<B>>,
    /// Diffs of intervals.
    kept: BTreeMap<(PageId, Version), B::Diff>,
}

impl<B: Bytes> Page<B> {
    fn may_be_read(&self) -> bool {
        self.protection != Protection::None
    }

    /// Whether it may be written without a fault, and its twin tells.
    fn is_unwatched(&self) -> bool {
        self.protection == Protection::Watched && self.twin.is_some() && !self.told
    }

    /// Writes a word, also into the twin.
    fn put(&mut self, change: &Change, value: u64) {
        let place = change.offset()..change.offset() + change.bytes();
        let value = &value.to_le_bytes()[..change.bytes()];
        self.bytes.bytes_mut()[place.clone()].copy_from_slice(value);
        if let Some(twin) = &mut self.twin {
            twin.bytes_mut()[place].copy_from_slice(value);
        }
    }

    fn change(&mut self, diff: &B::Diff) {
        self.bytes.change(diff);
        if let Some(twin) = &mut self.twin {
            twin.change(diff);
        }
    }
}

/// The word that a change is about.
fn word(bytes: &[u8], change: &Change) -> u64 {
    let bytes = &bytes[change.offset()..change.offset() + change.bytes()];
    let bytes = bytes.iter().rev();
    bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[expect(clippy::missing_errors_doc, reason = "all errors are of the same kind")]
impl<B: Bytes> Memory<B> {
    /// Zeroed pages, open to everything.
    #[must_use]
    pub fn new(pages: u32) -> Self {
        let page = Page {
            bytes: B::zero(),
            twin: None,
            protection: Protection::ReadWrite,
            diff: None,
            told: false,
        };
        Self {
            pages: vec![page; pages as usize],
            kept: BTreeMap::new(),
        }
    }

    fn page(&mut self, id: PageId) -> Result<&mut Page<B>, String> {
        let page = self.pages.get_mut(id.0 as usize);
        page.ok_or_else(|| format!("page {id} does not exist"))
    }

    /// True if a thread may do that without a fault.
    #[must_use]
    pub fn permits(&self, id: PageId, access: Access) -> bool {
        let page = self.pages.get(id.0 as usize);
        page.is_some_and(|page| match access {
            Access::Read => page.may_be_read(),
            Access::Write => page.protection == Protection::ReadWrite || page.is_unwatched(),
        })
    }

    /// The content of a page that threads may read.
    #[must_use]
    pub fn readable(&self, id: PageId) -> Option<&B> {
        let page = self.pages.get(id.0 as usize)?;
        page.may_be_read().then_some(&page.bytes)
    }

    /// All pages that threads may read.
    pub fn all_readable(&self) -> impl Iterator<Item = (PageId, &B)> {
        let pages = (0..).map(PageId).zip(&self.pages);
        let readable = pages.filter(|(_, page)| page.may_be_read());
        readable.map(|(id, page)| (id, &page.bytes))
    }

    /// A thread writes a byte of a page, which it may.
    pub fn write(&mut self, id: PageId, offset: usize, value: u8) -> Result<(), String> {
        self.page(id)?.bytes.bytes_mut()[offset] = value;
        Ok(())
    }

    /// Pages written without a fault. From now on their next writes are faults.
    pub fn take_written(&mut self) -> PageSet {
        let pages = self.pages.iter_mut().zip((0..).map(PageId));
        let unwatched = pages.filter(|(page, _)| page.is_unwatched());
        let written = unwatched.filter_map(|(page, id)| {
            page.told = true;
            (page.twin.as_ref() != Some(&page.bytes)).then_some(id)
        });
        written.collect()
    }

    /// Changes what threads may do.
    pub fn protect(&mut self, ids: PageRange, to: Protection) -> Result<(), String> {
        ids.iter().try_for_each(|id| {
            let page = self.page(id)?;
            (page.protection, page.told) = (to, false);
            Ok(())
        })
    }

    /// Makes a page's twin.
    pub fn twin(&mut self, id: PageId) -> Result<(), String> {
        let page = self.page(id)?;
        match page.twin.replace(page.bytes.clone()) {
            None => Ok(()),
            Some(_) => Err(format!("page {id} gets a second twin")),
        }
    }

    /// Forgets it.
    pub fn drop_twin(&mut self, id: PageId) -> Result<(), String> {
        let twin = self.page(id)?.twin.take();
        twin.map(drop)
            .ok_or_else(|| format!("page {id} has no twin to forget"))
    }

    /// What changed in a page since its twin was made, which is forgotten.
    fn compare(&mut self, id: PageId) -> Result<B::Diff, String> {
        let page = self.page(id)?;
        let twin = page.twin.take();
        let twin = twin.ok_or_else(|| format!("page {id} has no twin to compare with"))?;
        if page.protection == Protection::ReadWrite {
            return Err(format!("page {id} can change while it is compared"));
        }
        Ok(page.bytes.changes(&twin))
    }

    /// Makes a page's diff, which is kept until it is sent, or as that of an interval.
    pub fn diff(&mut self, id: PageId, of: Option<Version>) -> Result<(), String> {
        let diff = self.compare(id)?;
        let before = match of {
            Some(version) => self.kept.insert((id, version), diff),
            None => self.page(id)?.diff.replace(diff),
        };
        match before {
            None => Ok(()),
            Some(_) => Err(format!("a diff of page {id} is made twice")),
        }
    }

    /// The diff of an interval that is kept.
    pub fn kept(&self, id: PageId, of: Version) -> Result<&B::Diff, String> {
        let diff = self.kept.get(&(id, of));
        diff.ok_or_else(|| format!("no diff of page {id} is kept for interval {of:?}"))
    }

    /// Keeps the diff of another node's interval.
    pub fn keep(&mut self, id: PageId, of: Version, diff: B::Diff) -> Result<(), String> {
        match self.kept.insert((id, of), diff) {
            None => Ok(()),
            Some(_) => Err(format!("a diff of page {id} is kept twice")),
        }
    }

    /// Forgets the diffs of others than `me`.
    pub fn forget_others(&mut self, me: NodeId) {
        self.kept.retain(|(_, (writer, _)), _| *writer == me);
    }

    /// Writes the diff of an interval into a page and its twin.
    pub fn reapply(&mut self, id: PageId, of: Version) -> Result<(), String> {
        let diff = self.kept(id, of)?.clone();
        self.apply(id, &diff)
    }

    /// Forgets all twins and the diffs of all intervals.
    pub fn forget(&mut self) -> Result<(), String> {
        self.kept.clear();
        for page in &mut self.pages {
            page.twin = None;
            if page.diff.is_some() {
                return Err("a diff is forgotten that was not sent".into());
            }
        }
        Ok(())
    }

    /// Replaces a page that threads may not touch.
    pub fn install(
        &mut self,
        id: PageId,
        content: Arriving<B>,
        twinned: bool,
    ) -> Result<(), String> {
        let page = self.page(id)?;
        if page.may_be_read() {
            return Err(format!("page {id} is replaced under its threads' hands"));
        }
        match content {
            Arriving::Blank => page.bytes = B::zero(),
            Arriving::Page(bytes) => page.bytes = bytes,
        }
        match twinned {
            true => self.twin(id),
            false => Ok(()),
        }
    }

    /// Changes a word of a page and of its twin; what it was before.
    pub fn change(&mut self, id: PageId, change: &Change) -> Result<u64, String> {
        let page = self.page(id)?;
        let before = word(page.bytes.bytes(), change);
        page.put(change, change.after(before));
        Ok(before)
    }

    /// Changes a word as a thread does that writes the page: its twin stays.
    pub fn write_word(&mut self, id: PageId, change: &Change) -> Result<(), String> {
        let page = self.page(id)?;
        if page.twin.is_none() {
            return Err(format!("page {id} is changed and has no twin"));
        }
        let after = change.after(word(page.bytes.bytes(), change)).to_le_bytes();
        let place = change.offset()..change.offset() + change.bytes();
        page.bytes.bytes_mut()[place].copy_from_slice(&after[..change.bytes()]);
        Ok(())
    }

    /// Does the same to a copy that threads may read, where the word was this before. What a
    /// thread has written there since it had its twin comes later.
    pub fn patch(&mut self, id: PageId, change: &Change, before: u64) -> Result<(), String> {
        let page = self.page(id)?;
        if !page.may_be_read() {
            return Err(format!("page {id} is changed and not here"));
        }
        let written = page.twin.as_ref().map(|twin| word(twin.bytes(), change));
        let now = word(page.bytes.bytes(), change);
        page.put(change, change.after(before));
        if written.is_some_and(|twin| twin != now) {
            let place = change.offset()..change.offset() + change.bytes();
            let now = now.to_le_bytes();
            page.bytes.bytes_mut()[place].copy_from_slice(&now[..change.bytes()]);
        }
        Ok(())
    }

    /// A page as it is now.
    pub fn read(&mut self, id: PageId) -> Result<B, String> {
        Ok(self.page(id)?.bytes.clone())
    }

    /// Writes a diff into a page and its twin.
    pub fn apply(&mut self, id: PageId, diff: &B::Diff) -> Result<(), String> {
        self.page(id)?.change(diff);
        Ok(())
    }

    /// Content that leaves now.
    pub fn content(&mut self, content: Content) -> Result<Leaving<B>, String> {
        Ok(match content {
            // That nobody has touched it is more than a protocol may rely on.
            Content::Fresh(id) if self.page(id)?.bytes == B::zero() => Leaving::Blank,
            Content::Page(id) | Content::Fresh(id) => Leaving::Page(self.read(id)?),
            Content::Twin(id) => {
                let twin = self.page(id)?.twin.clone();
                Leaving::Page(twin.ok_or_else(|| format!("page {id} has no twin to be sent"))?)
            }
            Content::Kept(id, version) => Leaving::Diff(self.kept(id, version)?.clone()),
            Content::Diff(id) => {
                let diff = self.page(id)?.diff.take();
                Leaving::Diff(diff.ok_or_else(|| format!("page {id} has no diff to be sent"))?)
            }
        })
    }
}
