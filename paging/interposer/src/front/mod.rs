//! The functions that the interposer stands in front of.
//!
//! [`front!`] makes them: each enters a state, calls the function of the same name in the
//! next library, and leaves the state. `errno` is the next function's.

#[macro_use]
mod macros;

mod descriptors;
mod files;
mod io;
mod mpi;
mod processes;
mod sockets;
pub(crate) mod stdio;
mod threads;
mod waits;
