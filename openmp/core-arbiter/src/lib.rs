//! A board in shared memory by which programs divide one machine's cores.
//!
//! Programs that were started together have a slot each, where they say what they do and
//! what more cores would bring them ([`Claim`]). Whoever begins a parallel region reads all
//! slots and works out by itself how the cores are divided ([`policy`]): all come to the same
//! division without asking anybody, so that there is no server to wait for and none to die.
//!
//! Whatever another process writes, we stay whole. No word depends on another one: each is
//! read once and means something by itself, whatever its bits are, or is refused by the
//! check in it. What a partner says can lower its own share, never that of others below
//! what is theirs. Whether it is still there is asked of the kernel ([`presence`]).
//!
//! * [`layout`]: where on the board what is; [`Board`]: writing and reading it.
//! * [`claim`]: what a program says of itself, as words.
//! * [`cores`], [`speedup`]: sets of cores, and what cores bring.
//! * [`policy`]: which program gets how many cores, and which cores.
//! * [`observer`]: what a program makes of the board when a region begins.
//! * [`presence`]: which partners are there.
//! * [`learn`]: what cores bring a region, from how long it took.
//! * [`events`]: which program had which cores when, for the launcher.
#![forbid(unsafe_code)]

mod board;
pub mod claim;
pub mod cores;
pub mod events;
pub mod layout;
pub mod learn;
pub mod observer;
pub mod policy;
pub mod presence;
pub mod speedup;

pub use board::{Board, BoardError, Slot};
pub use claim::{Activity, Claim};
pub use cores::Cores;
pub use speedup::Speedup;
