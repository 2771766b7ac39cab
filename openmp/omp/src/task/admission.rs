//! Letting docked workers help with a region that they are through with, and
//! keeping them out once it has ended. See the README.

use super::primitive::{AtomicU32, AtomicU64, Ordering, pause};

/// See the module's documentation. Regions are known by numbers that are
/// never used again.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Admission {
    /// The region that workers may help with.
    open: AtomicU64,
    helpers: AtomicU32,
}

/// A number that no region has.
const CLOSED: u64 = 0;

impl Admission {
    pub(crate) fn new() -> Self {
        Self {
            open: AtomicU64::new(CLOSED),
            helpers: AtomicU32::new(0),
        }
    }

    /// `region` begins. Publishing this is left to whatever starts the workers,
    /// and to whatever tells helpers that there are tasks.
    #[inline]
    pub(crate) fn open(&self, region: u64) {
        self.open.store(region, Ordering::Relaxed);
    }

    /// The region has ended: nobody enters any more.
    pub(crate) fn withdraw(&self) {
        self.open.store(CLOSED, Ordering::SeqCst);
    }

    /// Returns when nobody is inside; after [`Admission::withdraw`].
    pub(crate) fn wait_until_empty(&self) {
        let mut polls = 0;
        while self.helpers.load(Ordering::SeqCst) != 0 {
            polls += 1;
            pause(polls);
        }
    }

    /// Whether somebody is inside.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.helpers.load(Ordering::Relaxed) != 0
    }

    /// Whether `region` has not ended.
    pub(crate) fn is_open(&self, region: u64) -> bool {
        self.open.load(Ordering::SeqCst) == region
    }

    /// Calls `stay`, from within a region that cannot be closed before.
    pub(crate) fn inside(&self, stay: impl FnOnce()) {
        self.helpers.fetch_add(1, Ordering::SeqCst);
        stay();
        self.helpers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Calls `help` unless `region` has ended; it cannot end meanwhile.
    pub(crate) fn admit(&self, region: u64, help: impl FnOnce()) {
        self.inside(|| {
            if self.is_open(region) {
                help();
            }
        });
    }
}
