//! What messages carry, on its way into memory.

use super::host::{Host, NodeError};
use fathomp_protocols::Body;
use fathomp_sys::cluster::copy::PageCopy;
use fathomp_types::{NodeId, PAGE_BYTES, PageId};

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

    fn in_place() -> Self {
        Self::Here
    }
}

impl Blob {
    pub(super) fn bytes(self) -> Result<Box<[u8]>, NodeError> {
        match self {
            Self::Page(bytes) => Ok(bytes.as_slice().into()),
            Self::Bytes(bytes) => Ok(bytes),
            Self::Here | Self::Blank | Self::Left(_) => {
                Err(NodeError::Action("a page in place of a diff"))
            }
        }
    }
}

/// Puts a page into its place, where it may be already; what has come, if not.
pub(super) fn install(
    host: &Host,
    page: PageId,
    content: Blob,
) -> Result<Option<Box<PageCopy>>, NodeError> {
    let content = match content {
        Blob::Here => return Ok(None),
        Blob::Left(home) => {
            let copied = host
                .peers
                .and_then(|peers| peers.pages_of(home))
                .map(|there| host.pages.copy_from(there, page, 1));
            let copied = copied.ok_or(NodeError::Action("a page that was left out of reach"))?;
            copied.map_err(NodeError::Permit)?;
            // Whoever left it counts it as sent.
            host.profile.received(PAGE_BYTES);
            return Ok(None);
        }
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
