//! Which state each thread is in, and what rose meanwhile.
//!
//! * [`stays`]: the calls and constructs that a thread is in;
//! * [`meter`]: its counters; [`kernel_calls`]: calls that the kernel counted for it;
//! * [`pace`]: which stays are too short to read counters;
//! * [`thread`]: both, and the thread's sink, for the thread itself;
//! * [`blocks`]: where that lies;
//! * [`turn`]: the right to touch it, which code that interrupts the interposer does not get;
//! * [`call`]: a function in front, and a stay in it; [`ours`]: whose code calls it;
//! * [`process`]: the process's sink, from load over forks to the end.

pub(crate) mod blocks;
mod call;
mod kernel_calls;
mod meter;
pub(crate) mod ours;
mod pace;
pub(crate) mod process;
mod stays;
pub(crate) mod thread;
pub(crate) mod turn;

pub(crate) use call::{Call, CallBy, Effect, Stay};
