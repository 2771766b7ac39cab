//! Content that a message carries.

use fathomp_protocols::Body;
use std::fmt;

/// The bytes of a page, or of a diff.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Blob(pub(crate) Box<[u8]>);

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl Body for Blob {
    fn is_blank(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}
