//! Processors whose counter we do not read.

/// Never: `CLOCK_MONOTONIC` is used instead.
pub(super) fn is_constant() -> bool {
    false
}

/// Not called, because [`is_constant`] is false.
pub(super) fn read() -> u64 {
    super::monotonic_ns()
}
