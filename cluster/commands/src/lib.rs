//! What programs would take on clusters that are not there, by replay of what they access through
//! the protocols that nodes run: the command `fathomp simulate`, what `fathomp predict --cluster`
//! tells of recorded accesses, and the runs of `fathomp bench mcbench --simulated`. And which cache
//! lines threads share, which nodes of one thread each show: [`sharing`].
#![forbid(unsafe_code)]

pub mod accesses;
pub mod args;
mod forecast;
pub mod sharing;
mod simulate;
pub mod simulated;

pub use forecast::{Asked, forecast};
pub use simulate::{Priced, simulate};
