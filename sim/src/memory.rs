//! A node's pages, as its threads and its protocol see them.

use fathomp_base::{PAGE_BYTES, PageId};
use fathomp_dsm::{Access, Content, Diff, PageBytes, Protection};

/// Content that a message carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Blob {
    /// A whole page.
    Page(Box<PageBytes>),
    /// What changed in one.
    Diff(Diff),
}

/// One page.
#[derive(Clone)]
struct Page {
    bytes: Box<PageBytes>,
    twin: Option<Box<PageBytes>>,
    protection: Protection,
    /// Made and not sent yet.
    diff: Option<Diff>,
}

/// All pages of a node.
#[derive(Clone)]
pub(crate) struct Memory(Vec<Page>);

impl Memory {
    /// Zeroed pages, protected as `protection` says.
    pub(crate) fn new(pages: u32, protection: impl Fn(PageId) -> Protection) -> Self {
        let page = |id| Page {
            bytes: Box::new([0; PAGE_BYTES]),
            twin: None,
            protection: protection(PageId(id)),
            diff: None,
        };
        Self((0..pages).map(page).collect())
    }

    fn page(&mut self, id: PageId) -> Result<&mut Page, String> {
        self.0
            .get_mut(id.0 as usize)
            .ok_or_else(|| format!("page {id} does not exist"))
    }

    /// True if a thread may do that without a fault.
    pub(crate) fn permits(&self, id: PageId, access: Access) -> bool {
        self.0.get(id.0 as usize).is_some_and(|page| match access {
            Access::Read => page.protection != Protection::None,
            Access::Write => page.protection == Protection::ReadWrite,
        })
    }

    /// The content of a page that threads may read.
    pub(crate) fn readable(&self, id: PageId) -> Option<&PageBytes> {
        let page = self.0.get(id.0 as usize)?;
        (page.protection != Protection::None).then_some(&page.bytes)
    }

    pub(crate) fn write(&mut self, id: PageId, offset: usize, value: u8) -> Result<(), String> {
        self.page(id)?.bytes[offset % PAGE_BYTES] = value;
        Ok(())
    }

    pub(crate) fn protect(&mut self, id: PageId, protection: Protection) -> Result<(), String> {
        self.page(id)?.protection = protection;
        Ok(())
    }

    pub(crate) fn twin(&mut self, id: PageId) -> Result<(), String> {
        let page = self.page(id)?;
        match page.twin.replace(page.bytes.clone()) {
            None => Ok(()),
            Some(_) => Err(format!("page {id} gets a second twin")),
        }
    }

    pub(crate) fn diff(&mut self, id: PageId) -> Result<(), String> {
        let page = self.page(id)?;
        let twin = page.twin.take();
        let twin = twin.ok_or_else(|| format!("page {id} has no twin to compare with"))?;
        if page.protection == Protection::ReadWrite {
            return Err(format!("page {id} can change while it is compared"));
        }
        match page.diff.replace(Diff::between(&twin, &page.bytes)) {
            None => Ok(()),
            Some(_) => Err(format!("the diff of page {id} was made and never sent")),
        }
    }

    pub(crate) fn install(&mut self, id: PageId, content: &Blob) -> Result<(), String> {
        let page = self.page(id)?;
        if page.protection != Protection::None {
            return Err(format!("page {id} is replaced under its threads' hands"));
        }
        match content {
            Blob::Page(bytes) => page.bytes.copy_from_slice(bytes.as_slice()),
            Blob::Diff(_) => return Err(format!("a diff is installed as page {id}")),
        }
        Ok(())
    }

    pub(crate) fn apply(&mut self, id: PageId, content: &Blob) -> Result<(), String> {
        let page = self.page(id)?;
        let Blob::Diff(diff) = content else {
            return Err(format!("a whole page is applied to page {id}"));
        };
        diff.apply(&mut page.bytes);
        if let Some(twin) = &mut page.twin {
            diff.apply(twin);
        }
        Ok(())
    }

    pub(crate) fn content(&mut self, content: Content) -> Result<Blob, String> {
        match content {
            Content::Page(id) => Ok(Blob::Page(self.page(id)?.bytes.clone())),
            Content::Diff(id) => {
                let diff = self.page(id)?.diff.take();
                diff.map(Blob::Diff)
                    .ok_or_else(|| format!("a diff of page {id} is sent that was not made"))
            }
        }
    }
}
