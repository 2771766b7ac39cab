//! What holds between two steps, whatever has happened.

use super::Home;
use crate::Body;

impl<B: Clone + Body> Home<B> {
    pub(super) fn invariants(&self) -> Result<(), String> {
        Ok(())
    }
}
