//! The recorder of a thread.

use crate::recorded::recorder;
use crate::worker::{Worker, known};
use fathomp_sys::static_ref::AtomicRef;
use fathomp_trace::recorder::ThreadRecorder;
use std::sync::atomic::Ordering;

/// Streams what a thread does, if the process is recorded.
pub(crate) struct OfThread(AtomicRef<ThreadRecorder>);

impl OfThread {
    pub(crate) const fn none() -> Self {
        Self(AtomicRef::new(None))
    }
}

impl Worker {
    /// This thread's recorder, if the process is recorded.
    #[inline]
    pub fn recorder(&self) -> Option<&'static ThreadRecorder> {
        self.recording.0.load(Ordering::Relaxed)
    }

    pub(crate) fn start_recording(&self) {
        let mine = recorder().and_then(|recorder| recorder.attach());
        self.recording.0.store(mine, Ordering::Relaxed);
    }

    pub(crate) fn stop_recording(&self) {
        if let (Some(recorder), Some(mine)) =
            (recorder(), self.recording.0.swap(None, Ordering::Relaxed))
        {
            recorder.detach(mine);
        }
    }
}

/// The calling thread's recorder, if it is recorded. Does not make the thread
/// known to the runtime, so it may be called wherever the thread stands.
#[must_use]
pub fn recorder_of_this_thread() -> Option<&'static ThreadRecorder> {
    known()?.worker().recorder()
}
