//! The schema between a run and its analysis, and both ends of it.
//!
//! * [`state`], [`record`]: what a thread can say about itself.
//! * [`model`]: a whole recording in memory, as the reader hands it out.
//!
//! Analysis depends on this crate only for [`model`]; it never links the
//! runtime.

pub mod model;
pub mod record;
pub mod state;
