//! What only one thread writes.

use std::ops::Deref;

/// Something alone on its cache lines: two of them, because processors fetch
/// lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub(crate) T);

impl<T> Deref for OwnLine<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
