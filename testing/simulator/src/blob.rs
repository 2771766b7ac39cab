//! Content that a message carries.

use fathomp_protocols::Body;
use fathomp_types::NodeId;
use std::fmt;

/// Content that a message carries.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Blob {
    /// The bytes of a page, or of a diff.
    Bytes(Box<[u8]>),
    /// A page that this node has left where it was.
    Left(NodeId),
    /// A page that is in its place already.
    InPlace,
}

impl Blob {
    pub(crate) fn bytes(&self) -> Result<&[u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Left(node) => Err(format!("what node {node} has left is not there")),
            Self::InPlace => Err("what is in its place is wanted elsewhere".into()),
        }
    }
}

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl Body for Blob {
    fn is_blank(&self) -> bool {
        self.bytes().is_ok_and(<[u8]>::is_empty)
    }

    fn in_place() -> Self {
        Self::InPlace
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Left(node) => write!(f, "left at node {node}"),
            Self::InPlace => write!(f, "in its place"),
        }
    }
}
