//! What messages carry, on its way into memory.

use super::{Hands, Trouble};
use fathomp_base::{NodeId, PAGE_BYTES, PageId};
use fathomp_dsm::Body;
use fathomp_sys::cluster::copy::PageCopy;
use std::ops::Range;

/// Content as it arrived.
#[derive(Clone, Debug)]
pub(crate) enum Blob {
    /// A whole page, or as many bytes of another kind.
    Page(Box<PageCopy>),
    /// A diff.
    Bytes(Box<[u8]>),
    /// A page that has been taken into its place already.
    Here,
    /// A page of zeros that nobody has ever touched.
    Blank,
    /// A page that is still at this node.
    Left(NodeId),
}

impl Body for Blob {
    fn is_blank(&self) -> bool {
        matches!(self, Self::Blank)
    }
}

impl Blob {
    pub(super) fn bytes(self) -> Result<Box<[u8]>, Trouble> {
        match self {
            Self::Page(bytes) => Ok(bytes.as_slice().into()),
            Self::Bytes(bytes) => Ok(bytes),
            Self::Here | Self::Blank | Self::Left(_) => {
                Err(Trouble::Action("a page in place of a diff"))
            }
        }
    }
}

/// Puts a page into its place, where it may be already; what has come, if not.
pub(super) fn install(
    hands: &Hands,
    page: PageId,
    content: Blob,
) -> Result<Option<Box<PageCopy>>, Trouble> {
    let content = match content {
        Blob::Here => return Ok(None),
        Blob::Left(home) => {
            let copied = hands
                .memories
                .and_then(|there| there.collect(home, page, hands.pages));
            let copied = copied.ok_or(Trouble::Action("a page that was left out of reach"))?;
            copied.map_err(Trouble::Permit)?;
            // Whoever left it counts it as sent.
            hands.profile.received(PAGE_BYTES);
            return Ok(None);
        }
        Blob::Blank => {
            let put = hands.pages.write(page, 0, &[0; PAGE_BYTES]);
            return put.map(|()| None).map_err(Trouble::Permit);
        }
        Blob::Page(content) => content,
        Blob::Bytes(_) => return Err(Trouble::Action("a page of another size")),
    };
    let put = hands.pages.write(page, 0, content.as_slice());
    put.map_err(Trouble::Permit)?;
    Ok(Some(content))
}

/// Which pages of a message were never touched here: the kernel is asked once for all that
/// lie together.
pub(super) struct Blank {
    /// Whether there are any.
    looks: bool,
    /// What is known of pages from one to another.
    known: Option<(Range<u32>, bool)>,
}

impl Blank {
    pub(super) fn new(looks: bool) -> Self {
        Self { looks, known: None }
    }

    pub(super) fn contains(&mut self, hands: &Hands, page: PageId) -> bool {
        if !self.looks {
            return false;
        }
        if let Some((pages, blank)) = &self.known
            && pages.contains(&page.0)
        {
            return *blank;
        }
        let touched = hands.pages.first_touched(page).unwrap_or(page);
        self.known = Some((page.0..touched.0.max(page.0 + 1), touched > page));
        touched > page
    }
}
