//! What is kept of pages beside their content, and of the step that is being made.

use super::blank::Blank;
use super::twins::Twins;
use super::unwatched::Unwatched;
use crate::observer::PageObserver;
use crate::profile::Tally;
use fathomp_protocols::{Diff, PageRange, Version};
use fathomp_sys::cluster::pages::Permission;
use fathomp_transport::Wake;
use fathomp_types::PageId;
use std::collections::HashMap;

/// What is kept of pages beside their content, and of the step that is being made.
pub(super) struct Work {
    pub(super) twins: Twins,
    pub(super) unwatched: Unwatched,
    /// What is to be permitted next, see `protect`.
    pub(super) unsettled: Option<(PageRange, Permission)>,
    /// Pages that are to be watched once the answers are sent that come next.
    pub(super) late: Vec<PageRange>,
    /// Diffs that are made and not sent yet.
    pub(super) diffs: HashMap<PageId, Diff>,
    /// Diffs that are made, or brought here, and sent whenever they are asked for.
    pub(super) kept: HashMap<(PageId, Version), Diff>,
    /// A message as bytes.
    pub(super) outgoing: Vec<u8>,
    /// Which pages of the message that is sent next were never touched here.
    pub(super) blank: Blank,
    /// Listeners to changes of pages.
    pub(super) observer: Option<Box<PageObserver>>,
    /// The protocol is being started: all pages may still be touched.
    pub(super) starting: bool,
    /// A thread asks, which sees to it that messages leave once it looks for the answer.
    pub(super) asked: bool,
    pub(super) tally: Tally,
    pub(super) wake: Wake,
}

impl Work {
    /// Before anything happened.
    pub(super) fn new(observer: Option<Box<PageObserver>>) -> Self {
        let watched = observer.as_ref().is_some_and(|o| o.watch.is_some());
        Self {
            twins: Twins::default(),
            unwatched: Unwatched::default(),
            unsettled: None,
            late: Vec::new(),
            diffs: HashMap::new(),
            kept: HashMap::new(),
            outgoing: Vec::new(),
            blank: Blank::new(!watched),
            observer,
            starting: true,
            asked: false,
            tally: Tally::default(),
            wake: Wake::Polling,
        }
    }
}
