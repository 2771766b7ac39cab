//! What messages carry, on its way into memory.

use super::host::{Host, NodeError};
use fathomp_protocols::Body;
use fathomp_sys::cluster::copy::PageCopy;
use fathomp_types::{PAGE_BYTES, PageId};

/// Content as it arrived.
#[derive(Clone, Debug)]
pub(crate) enum Blob {
    /// A whole page, or as many bytes of another kind.
    Page(Box<PageCopy>),
    /// A diff.
    Bytes(Box<[u8]>),
    /// A page of zeros that nobody has ever touched.
    Blank,
}

impl Body for Blob {
    fn is_blank(&self) -> bool {
        matches!(self, Self::Blank)
    }
}

impl Blob {
    pub(super) fn bytes(self) -> Result<Box<[u8]>, NodeError> {
        match self {
            Self::Page(bytes) => Ok(bytes.as_slice().into()),
            Self::Bytes(bytes) => Ok(bytes),
            Self::Blank => Err(NodeError::Action("a page in place of a diff")),
        }
    }
}

/// Puts a page into its place; what has come, if it is not blank.
pub(super) fn install(
    host: &Host,
    page: PageId,
    content: Blob,
) -> Result<Option<Box<PageCopy>>, NodeError> {
    let content = match content {
        Blob::Blank => {
            let put = host.pages.write(page, 0, &[0; PAGE_BYTES]);
            return put.map(|()| None).map_err(NodeError::Permit);
        }
        Blob::Page(content) => content,
        Blob::Bytes(_) => return Err(NodeError::Action("a page of another size")),
    };
    let put = host.pages.write(page, 0, content.as_slice());
    put.map_err(NodeError::Permit)?;
    Ok(Some(content))
}
