//! Pages that were never touched here.

use super::host::Host;
use fathomp_types::PageId;
use std::ops::Range;

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

    /// The message is sent: pages may be touched from now on.
    pub(super) fn forget(&mut self) {
        self.known = None;
    }

    pub(super) fn contains(&mut self, host: &Host, page: PageId) -> bool {
        if !self.looks {
            return false;
        }
        if let Some((pages, blank)) = &self.known
            && pages.contains(&page.0)
        {
            return *blank;
        }
        let touched = host.pages.first_touched(page).unwrap_or(page);
        self.known = Some((page.0..touched.0.max(page.0 + 1), touched > page));
        touched > page
    }
}
