//! The recorder of this process.

use fathomp_sys::static_ref::AtomicRef;
use fathomp_trace::foreign_recorder::{Lapse, Unseen};
use fathomp_trace::recorder::Recorder;
use std::sync::atomic::Ordering;

static RECORDER: AtomicRef<Recorder> = AtomicRef::new(None);

/// This process is recorded by that recorder.
pub(super) fn set(recorder: Option<&'static Recorder>) {
    RECORDER.store(recorder, Ordering::Release);
}

/// The recorder of this process, if it is recorded.
pub(super) fn recorder() -> Option<&'static Recorder> {
    RECORDER.load(Ordering::Acquire)
}

/// The runtime does not show this.
pub(crate) fn unseen(what: Unseen) {
    if let Some(recorder) = recorder() {
        recorder.unseen(what);
    }
}

/// The runtime told something that cannot be, or failed to tell.
#[cold]
pub(crate) fn lapse(what: Lapse) {
    if let Some(recorder) = recorder() {
        recorder.lapse(what);
    }
}
