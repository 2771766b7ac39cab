//! What users type.

mod hosts;
mod sharing;
mod simulate;

pub use hosts::NotOnHosts;
pub use sharing::{LIMIT_S, Sharing, nodes_for};
pub use simulate::{FaultPrice, HomesName, PageSizes, Simulate, SimulateError};
