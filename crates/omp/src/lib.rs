//! The OpenMP runtime: teams, barriers, worksharing, tasks, locks, ICVs.
#![forbid(unsafe_code)]

pub mod env;
pub mod icv;
pub mod places;
