//! The recorder of this process, below all that is recorded.

use fathomp_sys::static_ref::AtomicRef;
use fathomp_trace::recorder::Recorder;
use std::sync::atomic::Ordering;

static RECORDER: AtomicRef<Recorder> = AtomicRef::new(None);

/// The runtime that starts is recorded by that recorder.
pub(crate) fn set(recorder: Option<&'static Recorder>) {
    RECORDER.store(recorder, Ordering::Release);
}

/// The recorder of this process, if it is recorded and has begun. Starts nothing.
pub(crate) fn recorder() -> Option<&'static Recorder> {
    RECORDER.load(Ordering::Acquire)
}

/// Whether anything is recorded in this process: costs one load.
#[inline]
pub(crate) fn is_recorded() -> bool {
    RECORDER.load(Ordering::Relaxed).is_some()
}
