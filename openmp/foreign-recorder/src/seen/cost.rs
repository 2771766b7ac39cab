//! What watching costs: one event in so many is timed.

use super::process::recorder;
use fathomp_sys::own_cell::OwnCell;
use fathomp_trace::now;
use fathomp_types::Ticks;

/// One event in so many is timed.
const SAMPLE: u32 = 64;

/// An event that a thread handles; it is over when this is dropped.
pub(super) struct Event<'a> {
    count: &'a OwnCell<u32>,
    /// When it began, if it is timed.
    begun: Option<Ticks>,
}

impl<'a> Event<'a> {
    /// The thread begins to handle an event; `count` is its own.
    #[inline]
    pub(super) fn of(count: &'a OwnCell<u32>) -> Self {
        let number = count.get() + 1;
        count.set(number);
        Self {
            count,
            begun: number.is_multiple_of(SAMPLE).then(now),
        }
    }
}

impl Drop for Event<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(begun) = self.begun {
            note(self.count, begun);
        }
    }
}

#[cold]
fn note(count: &OwnCell<u32>, begun: Ticks) {
    if let Some(recorder) = recorder() {
        let cost = now().since(begun).0.saturating_mul(SAMPLE.into());
        recorder.note_foreign_events(SAMPLE.into(), cost);
        count.set(0);
    }
}

/// The events that came after the last one that was timed: their number, without their cost,
/// which is less than that of the next one that would have been.
pub(super) fn settle(count: &OwnCell<u32>) {
    if let Some(recorder) = recorder() {
        recorder.note_foreign_events(count.replace(0).into(), 0);
    }
}
