//! Questions that a recording answers by calculation.
//!
//! * [`gang`]: does switching all tasks of a program at once hide its page-ins? Wang and
//!   Marinescu (1995) leave it open.
//! * [`pages`]: would huge pages, or touching memory by the threads that use it, help?

pub mod gang;
pub mod pages;
