//! A node's pages, as its threads and its protocol see them.

use crate::blob::Blob;
use fathomp_base::{PAGE_BYTES, PageId};
use fathomp_dsm::{
    Access, Body, Content, Diff, Interval, PageBytes, PageRange, PageSet, Protection,
};
use std::collections::BTreeMap;

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
    /// Told since it has been watched: a page with a twin is closed by that.
    told: bool,
}

/// All pages of a node.
#[derive(Clone)]
pub(crate) struct Memory {
    pages: Vec<Page>,
    /// Diffs of intervals.
    kept: BTreeMap<(PageId, Interval), Diff>,
}

impl Memory {
    /// Zeroed pages, open to everything.
    pub(crate) fn new(pages: u32) -> Self {
        let page = |_| Page {
            bytes: Box::new([0; PAGE_BYTES]),
            twin: None,
            beneath: false,
            protection: Protection::ReadWrite,
            diff: None,
            told: false,
        };
        Self {
            pages: (0..pages).map(page).collect(),
            kept: BTreeMap::new(),
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
            (Access::Write, Protection::Watched) => page.twin.is_some() && !page.told,
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
        self.page(id)?.bytes[offset % PAGE_BYTES] = value;
        Ok(())
    }

    /// Changes a byte of a page whose writes by this node are noticed; what was there.
    pub(crate) fn update(
        &mut self,
        id: PageId,
        offset: usize,
        after: impl FnOnce(u8) -> u8,
    ) -> Result<u8, String> {
        let page = self.page(id)?;
        if page.protection != Protection::Watched || page.twin.is_some() {
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
            page.protection == Protection::Watched && unwatched
        })
    }

    pub(crate) fn protect(&mut self, ids: PageRange, to: Protection) -> Result<(), String> {
        for id in ids.iter() {
            let page = self.page(id)?;
            page.told = false;
            page.protection = to;
        }
        Ok(())
    }

    /// Pages that differ from their twins. From now on their next writes are faults.
    pub(crate) fn take_written(&mut self) -> PageSet {
        let pages = self.pages.iter_mut().zip(0..);
        let written = pages.filter_map(|(page, id)| {
            page.told = true;
            let twin = page.twin.as_ref()?;
            (*twin != page.bytes).then_some(PageId(id))
        });
        written.collect()
    }

    pub(crate) fn twin(&mut self, id: PageId) -> Result<(), String> {
        let page = self.page(id)?;
        page.beneath = false;
        match page.twin.replace(page.bytes.clone()) {
            None => Ok(()),
            Some(_) => Err(format!("page {id} gets a second twin")),
        }
    }

    /// Makes a page's diff, which is kept until it is sent.
    pub(crate) fn diff(&mut self, id: PageId) -> Result<(), String> {
        let diff = self.compare(id)?;
        match self.page(id)?.diff.replace(diff) {
            None => Ok(()),
            Some(_) => Err(format!("the diff of page {id} was made and never sent")),
        }
    }

    /// What changed in a page since its twin was made, which is forgotten.
    pub(crate) fn compare(&mut self, id: PageId) -> Result<Diff, String> {
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

    pub(crate) fn drop_twin(&mut self, id: PageId) -> Result<(), String> {
        let twin = self.page(id)?.twin.take();
        twin.map(drop)
            .ok_or_else(|| format!("page {id} has no twin to forget"))
    }

    /// Replaces a page that threads may not touch, unless its content is there already.
    pub(crate) fn install(
        &mut self,
        id: PageId,
        content: &Blob,
        twinned: bool,
    ) -> Result<(), String> {
        let page = self.closed(id)?;
        if content.is_blank() {
            page.bytes.fill(0);
        } else if *content != Blob::InPlace {
            let bytes = content.bytes()?.try_into();
            *page.bytes =
                bytes.map_err(|_| format!("page {id} is installed from a part of one"))?;
        }
        match twinned {
            true => self.twin(id),
            false => Ok(()),
        }
    }

    /// Replaces a page that threads may not touch by another node's.
    pub(crate) fn copy(&mut self, id: PageId, bytes: Box<PageBytes>) -> Result<(), String> {
        self.closed(id)?.bytes = bytes;
        Ok(())
    }

    fn closed(&mut self, id: PageId) -> Result<&mut Page, String> {
        let page = self.page(id)?;
        match page.protection {
            Protection::None => Ok(page),
            _ => Err(format!("page {id} is replaced under its threads' hands")),
        }
    }

    pub(crate) fn read(&mut self, id: PageId) -> Result<Box<PageBytes>, String> {
        Ok(self.page(id)?.bytes.clone())
    }

    /// Writes a diff that has arrived into a page and its twin.
    pub(crate) fn apply(&mut self, id: PageId, content: &Blob) -> Result<(), String> {
        let diff = Diff::from_bytes(content.bytes()?.into());
        self.change(id, &diff.map_err(|error| error.to_string())?)
    }

    /// Another node writes its changes into a page by itself.
    pub(crate) fn bring(&mut self, id: PageId, diff: &Diff) -> Result<(), String> {
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
