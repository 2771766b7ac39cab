//! The library that is loaded into programs of MPI whose regions are recorded: it stands in front
//! of MPI's functions and tells the recorder, which is part of another library, of each call.
//!
//! * [`front`]: the functions, under the names of C and of Fortran;
//! * [`layout`]: which of their arguments say how much goes to whom, and what becomes of it;
//! * [`arguments`]: what these are, as each language passes them, and [`sizes`] of their types;
//! * [`communicators`] and [`requests`]: what their handles stand for;
//! * [`transfers`]: the messages between two ranks that a call begins or completes;
//! * [`recorder`]: whom they are told.
//!
//! One library serves all implementations of MPI, since all that is passed on are words. The
//! functions have names of their own here, `fathomp_mpi_front_MPI_Send` for `MPI_Send`; only the
//! shared library is linked so that they answer to the names of those behind (`app/runtime/build`).
//! A call inside of another one, as MPI's own libraries make, passes straight through.

mod arguments;
mod communicators;
mod front;
mod layout;
mod recorder;
mod requests;
mod sizes;
mod transfers;
