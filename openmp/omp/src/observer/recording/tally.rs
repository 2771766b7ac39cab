//! What a member notes of a loop that is recorded.

use crate::own::{Own, OwnWord};

/// A member's share of the loop it is in.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(super) site: Own,
    pub(super) kind: Own,
    pub(super) ordered: Own,
    pub(super) asked: OwnWord,
    pub(super) iterations: OwnWord,
    pub(super) chunks: OwnWord,
    pub(super) begin: OwnWord,
    /// When the last chunk began.
    pub(super) since: OwnWord,
    /// The longest chunk so far.
    pub(super) longest: OwnWord,
    pub(super) countdown: Own,
}

impl Tally {
    pub(crate) const fn new() -> Self {
        Self {
            site: Own::new(0),
            kind: Own::new(0),
            ordered: Own::new(0),
            asked: OwnWord::new(),
            iterations: OwnWord::new(),
            chunks: OwnWord::new(),
            begin: OwnWord::new(),
            since: OwnWord::new(),
            longest: OwnWord::new(),
            countdown: Own::new(0),
        }
    }
}
