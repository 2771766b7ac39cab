//! What nodes send each other: its sizes, and how long they look for it.

use fathomp_protocols::Diff;

/// Bytes of a message beside the pages and diffs in it.
pub(super) const MESSAGE_BYTES: f64 = 64.0;
/// Bytes of a page.
pub(super) const PAGE_BYTES: f64 = fathomp_types::PAGE_BYTES as f64;
/// A diff of one changed word.
pub(super) const WORD_DIFF_BYTES: f64 = Diff::BYTES_OF_WORD as f64;
/// Bytes of the diff that the procedure of calibration sends: every other word of a
/// page.
pub(super) const HALF_DIFF_BYTES: f64 = Diff::BYTES_OF_HALF as f64;
/// A diff of a page of which every byte changed.
pub(super) const WHOLE_DIFF_BYTES: f64 = Diff::BYTES_MAX as f64;
/// Diffs that go home in one message, at most.
pub(super) const DIFFS_PER_MESSAGE: f64 = fathomp_protocols::home::BATCH as f64;

/// For so long a thread that waits looks for messages before it sleeps, in emulated time: the
/// transport's emulation has the same. Real threads with a processor each look for 500 us; nodes of
/// emulated time are not taken to. Who changes that has to change both, and to take prices and
/// recordings anew.
pub(super) const LOOKS_NS: f64 = 50_000.0;
