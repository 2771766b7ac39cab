//! The recorder of this process, below all that is recorded.

use fathomp_sys::static_ref::AtomicRef;
use fathomp_trace::model::SiteKind;
use fathomp_trace::now;
use fathomp_trace::recorder::{Recorder, asleep};
use fathomp_types::SiteId;
use std::sync::atomic::Ordering;

static RECORDER: AtomicRef<Recorder> = AtomicRef::new(None);

/// The process is recorded by that recorder from now on.
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

/// The site of a mutex that was asked for at `call`, 0 if that is not known; none then, and if
/// nothing is recorded.
pub(crate) fn site_of(call: usize) -> Option<SiteId> {
    let recorder = recorder().filter(|_| call != 0)?;
    Some(recorder.site(SiteKind::Mutex, call, 0))
}

/// Runs `sleep`, in which the calling thread sleeps: its recorder does not take that for sleep in
/// the program.
pub(crate) fn sleeps(sleep: impl FnOnce()) {
    if !is_recorded() {
        return sleep();
    }
    let begin = now();
    sleep();
    asleep(begin, now());
}
