//! Locks and critical sections.
