//! What messages carry, on its way into memory.

use super::{Hands, Trouble};
use fathomp_base::PageId;
use fathomp_sys::cluster::copy::PageCopy;

/// Content as it arrived.
#[derive(Clone, Debug)]
pub(crate) enum Blob {
    /// A whole page, or as many bytes of another kind.
    Page(Box<PageCopy>),
    /// A diff.
    Bytes(Box<[u8]>),
    /// A page that has been taken into its place already.
    Here,
}

impl Blob {
    pub(super) fn bytes(self) -> Result<Box<[u8]>, Trouble> {
        match self {
            Self::Page(bytes) => Ok(bytes.as_slice().into()),
            Self::Bytes(bytes) => Ok(bytes),
            Self::Here => Err(Trouble::Action("a page in place of a diff")),
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
        Blob::Page(content) => content,
        Blob::Bytes(_) => return Err(Trouble::Action("a page of another size")),
    };
    let put = hands.pages.write(page, 0, content.as_slice());
    put.map_err(Trouble::Permit)?;
    Ok(Some(content))
}
