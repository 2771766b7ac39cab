//! A node's pages, as its threads and its protocol see them.

use fathomp_base::{NodeId, PAGE_BYTES, PageId};
use fathomp_dsm::{
    Access, Body, Content, Diff, Interval, PageBytes, PageRange, PageSet, Protection,
};
use std::collections::BTreeMap;
use std::fmt;

/// Content that a message carries.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Blob {
    /// The bytes of a page, or of a diff.
    Bytes(Box<[u8]>),
    /// A page that this node has left where it was.
    Left(NodeId),
}

impl Blob {
    fn bytes(&self) -> Result<&[u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Left(node) => Err(format!("what node {node} has left is not there")),
        }
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl Body for Blob {
    fn is_blank(&self) -> bool {
        self.bytes().is_ok_and(<[u8]>::is_empty)
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Left(node) => write!(f, "left at node {node}"),
        }
    }
}

/// One page.
#[derive(Clone)]
struct Page {
    bytes: Box<PageBytes>,
    twin: Option<Box<PageBytes>>,
    /// Others have written the page since the twin was made, and not that.
    beneath: bool,
    protection: Protection,
    /// Made and not sent yet.
    diff: Option<Diff>,
    /// Written while it was watched, and nobody told.
    wrote: bool,
    /// Told since it has been watched: a page with a twin is closed by that.
    told: bool,
}

/// All pages of a node.
#[derive(Clone)]
pub(crate) struct Memory {
    pages: Vec<Page>,
    /// Diffs of intervals.
    kept: BTreeMap<(PageId, Interval), Diff>,
    /// Writes to watched pages are no faults.
    silent: bool,
}

impl Memory {
    /// Zeroed pages, open to everything.
    pub(crate) fn new(pages: u32, silent: bool) -> Self {
        let page = |_| Page {
            bytes: Box::new([0; PAGE_BYTES]),
            twin: None,
            beneath: false,
            protection: Protection::ReadWrite,
            diff: None,
            wrote: false,
            told: false,
        };
        Self {
            pages: (0..pages).map(page).collect(),
            kept: BTreeMap::new(),
            silent,
        }
    }

    fn page(&mut self, id: PageId) -> Result<&mut Page, String> {
        let page = self.pages.get_mut(id.0 as usize);
        page.ok_or_else(|| format!("page {id} does not exist"))
    }

    /// True if a thread may do that without a fault.
    pub(crate) fn permits(&self, id: PageId, access: Access) -> bool {
        let page = self.pages.get(id.0 as usize);
        page.is_some_and(|page| match (access, page.protection) {
            (_, Protection::None) | (Access::Write, Protection::Read) => false,
            (Access::Write, Protection::Watched) => match page.twin {
                Some(_) => !page.told,
                None => self.silent,
            },
            (Access::Read, _) | (Access::Write, Protection::ReadWrite) => true,
        })
    }

    /// The content of a page that threads may read.
    pub(crate) fn readable(&self, id: PageId) -> Option<&PageBytes> {
        let page = self.pages.get(id.0 as usize)?;
        (page.protection != Protection::None).then_some(&page.bytes)
    }

    /// All pages that threads may read.
    pub(crate) fn all_readable(&self) -> impl Iterator<Item = (PageId, &Box<PageBytes>)> {
        let pages = (0..).map(PageId).zip(&self.pages);
        pages
            .filter(|(_, page)| page.protection != Protection::None)
            .map(|(id, page)| (id, &page.bytes))
    }

    pub(crate) fn write(&mut self, id: PageId, offset: usize, value: u8) -> Result<(), String> {
        let page = self.page(id)?;
        page.bytes[offset % PAGE_BYTES] = value;
        page.wrote |= page.protection == Protection::Watched;
        Ok(())
    }

    /// Changes a byte of a page whose writes by this node are noticed; what was there.
    pub(crate) fn update(
        &mut self,
        id: PageId,
        offset: usize,
        after: impl FnOnce(u8) -> u8,
    ) -> Result<u8, String> {
        let silent = self.silent;
        let page = self.page(id)?;
        if page.protection != Protection::Watched || page.twin.is_some() || silent {
            return Err(format!("page {id} is updated and not watched"));
        }
        let byte = &mut page.bytes[offset % PAGE_BYTES];
        let before = *byte;
        *byte = after(before);
        Ok(before)
    }

    /// Whether there are pages that may have been written without a fault.
    pub(crate) fn may_have_been_written(&self) -> bool {
        self.pages.iter().any(|page| {
            let unwatched = page.twin.is_some() && !page.told;
            page.wrote || page.protection == Protection::Watched && unwatched
        })
    }

    pub(crate) fn protect(&mut self, ids: PageRange, to: Protection) -> Result<(), String> {
        for id in ids.iter() {
            let page = self.page(id)?;
            page.wrote &= to == Protection::Watched && page.protection == to;
            page.told = false;
            page.protection = to;
        }
        Ok(())
    }

    /// Pages written while they were watched, which nobody was told before.
    pub(crate) fn take_wrote(&mut self) -> PageSet {
        let pages = self.pages.iter_mut().zip(0..);
        let wrote = pages.filter_map(|(page, id)| {
            page.told = true;
            let wrote = std::mem::take(&mut page.wrote);
            // With a twin, what is the same as before is not noticed, and what others
            // have written beneath it is.
            let differs = page.twin.as_ref().map(|twin| *twin != page.bytes);
            (differs.unwrap_or(wrote)).then_some(PageId(id))
        });
        wrote.collect()
    }

    pub(crate) fn twin(&mut self, id: PageId) -> Result<(), String> {
        let page = self.page(id)?;
        page.beneath = false;
        match page.twin.replace(page.bytes.clone()) {
            None => Ok(()),
            Some(_) => Err(format!("page {id} gets a second twin")),
        }
    }

    pub(crate) fn diff(&mut self, ids: PageRange) -> Result<(), String> {
        ids.iter().try_for_each(|id| self.diff_page(id))
    }

    /// What changed in a page since its twin was made, which is forgotten.
    fn compare(&mut self, id: PageId) -> Result<Diff, String> {
        let page = self.page(id)?;
        let twin = page.twin.take();
        let twin = twin.ok_or_else(|| format!("page {id} has no twin to compare with"))?;
        if page.protection == Protection::ReadWrite {
            return Err(format!("page {id} can change while it is compared"));
        }
        if page.beneath {
            return Err(format!(
                "page {id} has a twin that a diff was not brought into"
            ));
        }
        Ok(Diff::between(&twin, &page.bytes))
    }

    pub(crate) fn keep(&mut self, id: PageId, interval: Interval) -> Result<(), String> {
        let diff = self.compare(id)?;
        match self.kept.insert((id, interval), diff) {
            None => Ok(()),
            Some(_) => Err(format!("the diff of page {id} is kept twice")),
        }
    }

    fn kept(&self, id: PageId, interval: Interval) -> Result<&Diff, String> {
        let diff = self.kept.get(&(id, interval));
        diff.ok_or_else(|| format!("no diff of page {id} is kept for interval {interval:?}"))
    }

    pub(crate) fn reapply(&mut self, id: PageId, interval: Interval) -> Result<(), String> {
        let diff = self.kept(id, interval)?.clone();
        self.change(id, &diff)
    }

    pub(crate) fn forget(&mut self) -> Result<(), String> {
        self.kept.clear();
        for page in &mut self.pages {
            page.twin = None;
            if page.diff.is_some() {
                return Err("a diff is forgotten that was not sent".into());
            }
        }
        Ok(())
    }

    fn diff_page(&mut self, id: PageId) -> Result<(), String> {
        let diff = self.compare(id)?;
        match self.page(id)?.diff.replace(diff) {
            None => Ok(()),
            Some(_) => Err(format!("the diff of page {id} was made and never sent")),
        }
    }

    pub(crate) fn drop_twin(&mut self, id: PageId) -> Result<(), String> {
        let twin = self.page(id)?.twin.take();
        twin.map(drop)
            .ok_or_else(|| format!("page {id} has no twin to forget"))
    }

    pub(crate) fn install(&mut self, id: PageId, content: &Blob) -> Result<(), String> {
        let page = self.page(id)?;
        if page.protection != Protection::None {
            return Err(format!("page {id} is replaced under its threads' hands"));
        }
        if content.is_blank() {
            page.bytes.fill(0);
            return Ok(());
        }
        let bytes = content.bytes()?.try_into();
        *page.bytes = bytes.map_err(|_| format!("page {id} is installed from a part of one"))?;
        Ok(())
    }

    pub(crate) fn install_twinned(&mut self, id: PageId, content: &Blob) -> Result<(), String> {
        self.install(id, content)?;
        self.twin(id)
    }

    pub(crate) fn apply(&mut self, id: PageId, content: &Blob) -> Result<(), String> {
        let diff = diff(content)?;
        self.change(id, &diff)
    }

    /// Another node writes its changes into a page by itself.
    pub(crate) fn bring(&mut self, id: PageId, content: &Blob) -> Result<(), String> {
        let diff = diff(content)?;
        let page = self.page(id)?;
        diff.apply(&mut page.bytes);
        page.beneath |= page.twin.is_some();
        Ok(())
    }

    fn change(&mut self, id: PageId, diff: &Diff) -> Result<(), String> {
        let page = self.page(id)?;
        diff.apply(&mut page.bytes);
        if let Some(twin) = &mut page.twin {
            diff.apply(twin);
        }
        Ok(())
    }

    /// Others have taken this of a page while it was written unwatched, and keep it. True
    /// if it has been written since: then that is the twin.
    pub(crate) fn was_kept(&mut self, id: PageId, taken: &[u8]) -> Result<bool, String> {
        let page = self.page(id)?;
        let changed = page.bytes.as_slice() != taken;
        if changed {
            let mut twin = Box::new([0; PAGE_BYTES]);
            twin.copy_from_slice(taken);
            if page.twin.replace(twin).is_some() {
                return Err(format!("page {id} is kept elsewhere and has a twin"));
            }
            page.beneath = false;
        }
        Ok(changed)
    }

    /// Appends content that a message carries.
    pub(crate) fn append(&mut self, content: Content, bytes: &mut Vec<u8>) -> Result<(), String> {
        match content {
            // That nobody has touched it is more than a protocol may rely on.
            Content::Fresh(id) if self.page(id)?.bytes.iter().all(|byte| *byte == 0) => {}
            Content::Page(id) | Content::Fresh(id) => {
                bytes.extend_from_slice(self.page(id)?.bytes.as_slice())
            }
            Content::Left(id) => return Err(format!("page {id} is sent that was left")),
            Content::Twin(id) => {
                let twin = self.page(id)?.twin.as_ref();
                let twin = twin.ok_or_else(|| format!("page {id} has no twin to be sent"))?;
                bytes.extend_from_slice(twin.as_slice());
            }
            Content::Kept(id, interval) => {
                bytes.extend_from_slice(self.kept(id, interval)?.as_bytes());
            }
            Content::Diff(id) => {
                let diff = self.page(id)?.diff.take();
                let diff =
                    diff.ok_or_else(|| format!("a diff of page {id} is sent that was not made"))?;
                bytes.extend_from_slice(diff.as_bytes());
            }
        }
        Ok(())
    }
}

fn diff(content: &Blob) -> Result<Diff, String> {
    let bytes = content.bytes()?.into();
    Diff::from_bytes(bytes).map_err(|error| error.to_string())
}
