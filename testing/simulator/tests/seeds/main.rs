//! Programs on a simulated cluster, each with many seeds: one program of tests, since the
//! protocols are compiled into each.

mod death;
mod kinds;
mod litmus;
mod locks;
mod messages;
mod random;
mod updates;
mod waits;
